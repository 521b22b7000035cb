/* Walks over the threads of a group on one kernel. A process may have thousands of them, so a walk has parts: between
 * two of them the group's lock is free, messages are taken and others have a turn (msg/slice.h).
 *
 * A walk knows the thread that comes next. Whoever removes that thread from the group moves the walk on behind it, so a
 * walk never begins anew, and it meets no thread twice. */
#ifndef TASKS_THREAD_WALK_H
#define TASKS_THREAD_WALK_H

#include "tasks/thread/group.h"

/* Calls EACH with every thread that GROUP has on this kernel, present or shadow, in their order, with the group's lock
 * held, which EACH keeps. A thread that is here from the beginning to the end is met once; one that comes or goes
 * meanwhile is met once or not at all. The caller has a reference to GROUP and holds no spinlock. Tasks only: in a
 * handler nothing happens between the parts. */
void group_each_thread(struct group *group, void (*each)(struct thread *thread, void *context), void *context);

/* Removes THREAD from the threads of GROUP, whose lock is held. */
void group_remove_thread_locked(struct group *group, struct thread *thread);

#endif
