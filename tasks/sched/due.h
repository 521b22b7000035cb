/* What a thread is to look at before it goes back to user mode. */
#ifndef TASKS_SCHED_DUE_H
#define TASKS_SCHED_DUE_H

#include "tasks/thread/thread.h"

/* Sets FLAG (THREAD_DUE_*) for THREAD, which the caller keeps from going away, and makes it look. Any context. */
void thread_set_due(struct thread *thread, uint32_t flag);
/* THREAD, present here, is to go to KERNEL when it next passes the way to user mode (tasks/migrate/migrate.c). Its
 * group's lock is held. */
void thread_order_move_locked(struct thread *thread, uint32_t kernel);

#endif
