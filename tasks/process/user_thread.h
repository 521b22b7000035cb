/* Threads of programs: making a thread, and abandoning it before it has begun. */
#ifndef TASKS_PROCESS_USER_THREAD_H
#define TASKS_PROCESS_USER_THREAD_H

#include "tasks/thread/group.h"

/* Makes a program's thread TID of GROUP, with a zeroed frame and a copy of the FPU state of LIKE, the current thread,
 * or a fresh one (NULL). Without LIKE it may run on all CPUs; with it, the caller sets them. The thread is not yet in
 * the group's list and not started. Takes a reference to GROUP. NULL without memory. */
struct thread *thread_create_user(uint32_t tid, struct group *group, const struct thread *like);
/* Frees THREAD, a program's, which was made but never put into its group's list. It is removed under the group's lock,
 * because thread_find may find it until then. */
void thread_abandon(struct thread *thread);

/* The entry of a new thread of a program; defined in tasks/user. Does what is due for the current thread, and enters
 * user mode with the state in its frame. */
_Noreturn void thread_enter_user(void);

#endif
