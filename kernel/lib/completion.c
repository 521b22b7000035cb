/* Waiting for one event. See the header. */
#include "kernel/lib/completion.h"

#include <stddef.h>

struct wait_ops wait_ops;

void completion_wait(struct completion *c, const struct wait_reason *reason)
{
    spin_lock(&c->lock);
    while (!c->done) {
        c->waiter = wait_ops.current();
        wait_ops.block(&c->lock, reason);
        spin_lock(&c->lock);
    }
    c->waiter = NULL;
    spin_unlock(&c->lock);
}

void completion_signal(struct completion *c)
{
    void *waiter;

    spin_lock(&c->lock);
    c->done = true;
    waiter = c->waiter;
    /* The waiter returns, and its stack with C on it may go, only after it has taken the lock once more: it cannot
     * before we release it, and after that we touch only the thread. */
    if (waiter != NULL)
        wait_ops.wake(waiter);
    spin_unlock(&c->lock);
}
