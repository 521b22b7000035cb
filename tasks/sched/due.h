/* Marking what is due for a thread before it returns to user mode. */
#ifndef TASKS_SCHED_DUE_H
#define TASKS_SCHED_DUE_H

#include "tasks/thread/thread.h"

/* Sets FLAG (THREAD_DUE_*) for THREAD, which the caller keeps valid, and makes it check its flags. Any context. */
void thread_set_due(struct thread *thread, uint32_t flag);
/* Orders THREAD, present here, to move to KERNEL when it next returns to user mode (tasks/migrate/migrate.c). Its
 * group's lock is held. */
void thread_order_move_locked(struct thread *thread, uint32_t kernel);

#endif
