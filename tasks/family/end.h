/* The end of a process: notifying its parent and its children; the release of a zombie by its parent.
 * tasks/process/process.md has the protocol. */
#ifndef TASKS_FAMILY_END_H
#define TASKS_FAMILY_END_H

#include "tasks/process/process.h"

/* GROUP has ended except for its struct process, whose timers are gone: makes the process a zombie or releases it, and
 * gives its children a new parent. In a task at the home; waits. */
void process_ended(struct group *group);

/* Tells the parent of GROUP, if this is a zombie, once more that it has ended, and releases it if the parent does not
 * know of it. No thread may be about to wait for it: programs are quiesced. 0; -ENOMEM: the parent may not have heard
 * of it. Tasks only; waits. */
int process_ended_again(struct group *group);

/* PROCESS_NEW_PARENT, PROCESS_REAPED. */
process_operation process_new_parent, process_reaped;

#endif
