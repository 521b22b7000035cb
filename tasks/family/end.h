/* The end of a process, as its parent and its children see it; and its parent's word. tasks/process/process.md has the
 * protocol. */
#ifndef TASKS_FAMILY_END_H
#define TASKS_FAMILY_END_H

#include "tasks/process/process.h"

/* The group has ended, all but its process, whose timers are gone: it becomes a zombie or vanishes, its children are
 * given to init. In a task at home, which waits. */
void process_ended(struct group *group);

/* The operations of these names. */
process_operation process_new_parent, process_reaped;

#endif
