/* Waiting for a condition. See the header. */
#include "tasks/sched/waitq.h"

struct waiter {
    struct list node;
    struct thread *thread;
};

void waitq_wait(struct waitq *queue, struct spinlock *lock, const struct wait_reason *reason, enum wait_end end,
                uint64_t deadline)
{
    struct waiter waiter = {.thread = thread_current()};

    list_append(&queue->waiters, &waiter.node);
    sched_block(lock, reason, end, deadline);
    spin_lock(lock);
    list_remove(&waiter.node);
}

void waitq_wake_all(struct waitq *queue)
{
    list_for_each(node, &queue->waiters)
        sched_wake(container_of(node, struct waiter, node)->thread);
}

void waitq_wake_owed(struct waitq *queue, struct waitq *owed, uint32_t most)
{
    for (; most > 0 && !list_empty(&owed->waiters); most--) {
        struct waiter *first = container_of(owed->waiters.next, struct waiter, node);

        list_remove(&first->node);
        list_append(&queue->waiters, &first->node);
        sched_wake(first->thread);
    }
}

void waitq_wake_some(struct waitq *queue, uint32_t most)
{
    for (; most > 0 && !list_empty(&queue->waiters); most--) {
        struct waiter *first = container_of(queue->waiters.next, struct waiter, node);

        list_remove(&first->node);
        sched_wake(first->thread);
    }
}
