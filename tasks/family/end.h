/* The end of a process as its parent and its children see it; the release of a zombie by its parent.
 * tasks/process/process.md has the protocol. */
#ifndef TASKS_FAMILY_END_H
#define TASKS_FAMILY_END_H

#include "tasks/process/process.h"

/* The group has ended except for its struct process, whose timers are gone: the process becomes a zombie or is
 * released, and its children get a new parent. In a task at the home; waits. */
void process_ended(struct group *group);

/* The operations of these names. */
process_operation process_new_parent, process_reaped;

#endif
