/* Threads of programs: making a thread, and abandoning it before it has begun. */
#ifndef TASKS_PROCESS_USER_THREAD_H
#define TASKS_PROCESS_USER_THREAD_H

#include "tasks/thread/group.h"

/* Makes a program's thread TID of GROUP, with a zeroed frame and the FPU state at FPU_FROM, or a fresh one (NULL). It
 * is not yet in the group and not yet started. Takes a reference to GROUP. NULL without memory. */
struct thread *thread_create_user(uint32_t tid, struct group *group, const void *fpu_from);
/* Frees THREAD, a program's, which was made but never put into its group. Until then thread_find may have found it. */
void thread_abandon(struct thread *thread);

/* The entry of a new thread of a program; defined by tasks/user. Does what is due for the current thread, and enters
 * user mode with the state in its frame. */
_Noreturn void thread_enter_user(void);

#endif
