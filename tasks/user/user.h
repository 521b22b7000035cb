/* The way back to user mode: what is due for a thread before it goes on in its program. tasks/user/before_user.h is for
 * those who return; a new thread comes by thread_enter_user (tasks/process/user_thread.h). */
#ifndef TASKS_USER_USER_H
#define TASKS_USER_USER_H

#include "tasks/thread/thread.h"

/* The interrupted system call of THREAD begins again when it goes back to user mode. */
void thread_restart_call(struct thread *thread);
/* Does what is due before the current thread returns to user mode: dying, moving, stopping, signals, rescheduling. */
void thread_settle(void);

#endif
