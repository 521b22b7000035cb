/* Threads of programs: making one, and giving it up before it has begun. */
#ifndef TASKS_PROCESS_USER_THREAD_H
#define TASKS_PROCESS_USER_THREAD_H

#include "tasks/thread/group.h"

/* A program's thread TID of GROUP, with a zeroed frame and the FPU state at FPU_FROM, or a fresh one (NULL); not yet in
 * the group, not yet started. Takes a reference to GROUP. NULL without memory. */
struct thread *thread_create_user(uint32_t tid, struct group *group, const void *fpu_from);
/* Frees THREAD, a program's, which was made and never put into its group: whoever knows its id may have found it. */
void thread_abandon(struct thread *thread);

/* Where a new thread of a program begins; filled in by tasks/user. Goes to user mode with the state in the current
 * thread's frame, after what is due before that. */
_Noreturn void thread_enter_user(void);

#endif
