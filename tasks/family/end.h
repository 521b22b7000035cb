/* The end of a process, as its parent and its children see it; and its parent's word. tasks/process/process.md has the
 * protocol. */
#ifndef TASKS_FAMILY_END_H
#define TASKS_FAMILY_END_H

#include "tasks/process/process.h"

/* The group has ended, all but its process, whose timers are gone: it becomes a zombie or vanishes, its children are
 * given to init. In a task at home, which waits. */
void process_ended(struct group *group);

/* PROCESS_NEW_PARENT, PROCESS_REAPED: of GROUP, whose home this kernel is. */
int64_t process_new_parent(struct group *group, const struct msg_process_call *call, struct msg_process_result *result);
int64_t process_reaped(struct group *group, struct msg_process_result *result);

#endif
