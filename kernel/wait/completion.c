/* Waiting for one event. See the header. */
#include "kernel/wait/completion.h"

#include <stddef.h>

#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"

struct wait_ops wait_ops;

bool completion_wait_until(struct completion *c, const struct wait_reason *reason, enum wait_end end, uint64_t deadline)
{
    bool done;

    spin_lock(&c->lock);
    while (!c->done && !wait_ops.ended(end) && !(deadline != 0 && clock_now() >= deadline)) {
        c->waiter = wait_ops.current();
        wait_ops.block(&c->lock, reason, end, deadline);
        spin_lock(&c->lock);
    }
    c->waiter = NULL;
    done = c->done;
    spin_unlock(&c->lock);
    return done;
}

void completion_wait(struct completion *c, const struct wait_reason *reason)
{
    completion_wait_until(c, reason, WAIT_FIRM, 0);
}

void completion_signal_locked(struct completion *c, uint32_t *notice)
{
    uint32_t own = 0;
    void *waiter;

    spin_lock(&c->lock);
    c->done = true;
    waiter = c->waiter;
    /* The waiter must take the lock again before it returns and frees the stack that C may lie on. It cannot take the
     * lock before we release it, and after that we touch neither C nor the thread. */
    if (waiter != NULL)
        own = wait_ops.wake(waiter);
    spin_unlock(&c->lock);
    if (own == 0 || own == *notice)
        return;
    completion_notify(*notice); /* NOTICE has room for one CPU only: notify the CPU of an earlier signal now */
    *notice = own;
}

void completion_notify(uint32_t notice)
{
    if (notice != 0)
        wait_ops.notify(notice);
}

void completion_signal(struct completion *c)
{
    uint32_t notice = 0;

    if (!cpu_several && c->waiter == NULL) { /* who waits is not on another CPU, and finds it done before it blocks */
        c->done = true;
        return;
    }
    completion_signal_locked(c, &notice);
    completion_notify(notice);
}
