/* Queues of threads that wait for a condition, which is protected by a lock of the caller. */
#ifndef TASKS_SCHED_WAITQ_H
#define TASKS_SCHED_WAITQ_H

#include "tasks/sched/sched.h"
#include "tasks/thread/wait.h"

static inline void waitq_init(struct waitq *queue)
{
    list_init(&queue->waiters);
}

/* Waits until waitq_wake_all, an event that END names, or DEADLINE (clock_now ns; 0: none). LOCK, which protects the
 * condition, is released meanwhile and held again on return. The caller must check its condition again, and also
 * wait_ops.ended (END): once that is true, this function returns at once, and a loop without the check would never let
 * another thread run. */
void waitq_wait(struct waitq *queue, struct spinlock *lock, const struct wait_reason *reason, enum wait_end end,
                uint64_t deadline);
/* Wakes all waiting threads. The lock is held. */
void waitq_wake_all(struct waitq *queue);
/* Wakes the MOST threads that wait longest in OWED, or all, which wait in QUEUE again. The lock of both is held. */
void waitq_wake_owed(struct waitq *queue, struct waitq *owed, uint32_t most);
/* Wakes the MOST threads that wait longest, or all, which do not wait in QUEUE any more. The lock is held. */
void waitq_wake_some(struct waitq *queue, uint32_t most);

#endif
