/* The return to user mode: does what is due for a thread before it resumes its program. Returning threads pass through
 * tasks/user/before_user.h; a new thread begins in thread_enter_user (tasks/process/user_thread.h). */
#ifndef TASKS_USER_USER_H
#define TASKS_USER_USER_H

#include "tasks/thread/thread.h"

/* Makes the interrupted system call of THREAD restart when the thread returns to user mode. */
void thread_restart_call(struct thread *thread);
/* Does what is due before the current thread returns to user mode: dying, moving, stopping, quiescing, signals,
 * restartable sequences, rescheduling. */
void thread_settle(void);

#endif
