/* Waiting for a condition. See the header. */
#include "tasks/waitq.h"

struct waiter {
    struct list node;
    struct thread *thread;
};

static void wait(struct waitq *queue, struct spinlock *lock, const struct wait_reason *reason, bool interruptible,
                 uint64_t deadline)
{
    struct waiter waiter = {.thread = thread_current()};

    list_append(&queue->waiters, &waiter.node);
    sched_block(lock, reason, interruptible, deadline);
    spin_lock(lock);
    list_remove(&waiter.node);
}

void waitq_wait(struct waitq *queue, struct spinlock *lock, const struct wait_reason *reason, uint64_t deadline)
{
    wait(queue, lock, reason, true, deadline);
}

void waitq_wait_unkillable(struct waitq *queue, struct spinlock *lock, const struct wait_reason *reason,
                           uint64_t deadline)
{
    wait(queue, lock, reason, false, deadline);
}

void waitq_wake_all(struct waitq *queue)
{
    list_for_each(node, &queue->waiters)
        sched_wake(container_of(node, struct waiter, node)->thread);
}
