/* A task waits here until something is done. The scheduler above registers how to block and to wake; the wait says
 * what it waits for, so that a wait dump can name it. */
#ifndef KERNEL_WAIT_COMPLETION_H
#define KERNEL_WAIT_COMPLETION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"

/* What a blocked task waits for; shown by the wait dump. */
struct wait_reason {
    const char *what; /* in a few words; a constant */
    int32_t kernel;   /* the peer that has to act, or -1: somebody here */
    uint64_t key;     /* a page address, thread id ... 0 when there is none */
};

/* What ends a wait before its event. */
enum wait_end {
    WAIT_FIRM,         /* nothing: what has begun has to be finished */
    WAIT_KILLABLE,     /* the thread is to die */
    WAIT_INTERRUPTIBLE /* that, or a signal, a stop or a move of the thread: the caller must be able to begin again */
};

struct completion {
    struct spinlock lock;
    bool done;    /* [k] lock */
    void *waiter; /* [k] lock: the thread that waits, or NULL; one at most */
};

/* The scheduler's side; registered once before the first wait. */
struct wait_ops {
    void *(*current)(void);
    /* Blocks the current thread and releases LOCK so that no wake between is lost. Returns when woken, lock free; also
     * at DEADLINE (ns, as clock_now; 0: none), and by what END names. */
    void (*block)(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline);
    bool (*ended)(enum wait_end end); /* what END names has come for the current thread */
    void (*due_changed)(void);        /* there is a new time at which somebody has to look for messages: msg_due */
    bool (*alone)(void); /* no other thread wants this CPU: it may as well look for messages before it blocks */
    /* Makes a blocked thread ready; harmless when it is not blocked. What it returns is given to notify when the
     * caller's locks are free: the CPU that is to run it may want them first thing. */
    uint32_t (*wake)(void *thread);
    void (*notify)(uint32_t notice);
};

extern struct wait_ops wait_ops;

static inline void completion_init(struct completion *c)
{
    *c = (struct completion){.done = false};
}

/* Waits until completion_signal. Tasks only, with no spinlock held. */
void completion_wait(struct completion *c, const struct wait_reason *reason);
/* As completion_wait; gives up at DEADLINE (ns, as clock_now; 0: never), and by what END names. False: given up. C may
 * then still be signalled. */
bool completion_wait_until(struct completion *c, const struct wait_reason *reason, enum wait_end end,
                           uint64_t deadline);
/* Ends the wait, now or before it starts. Any context. C may be gone as soon as the waiter has seen it. */
void completion_signal(struct completion *c);
/* The same for a caller with locks: *NOTICE, 0 at first, is given to completion_notify when they are free. Several
 * signals may use one. */
void completion_signal_locked(struct completion *c, uint32_t *notice);
void completion_notify(uint32_t notice);

#endif
