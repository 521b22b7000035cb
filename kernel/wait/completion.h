/* Completions: a task waits for one event. The scheduler above registers the functions that block and wake; each wait
 * has a reason that a wait dump can show. */
#ifndef KERNEL_WAIT_COMPLETION_H
#define KERNEL_WAIT_COMPLETION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"

/* The reason that a task is blocked, shown by the wait dump. */
struct wait_reason {
    const char *what; /* a few words; a string constant */
    int32_t kernel;   /* the kernel that has to act, or -1: this one */
    uint64_t key;     /* a page address, a thread id ...; 0 when there is none */
};

/* The conditions that end a wait before its event. */
enum wait_end {
    WAIT_FIRM,         /* none: the wait lasts until its event or its deadline */
    WAIT_KILLABLE,     /* the thread has been killed */
    WAIT_INTERRUPTIBLE /* also a signal, a stop or a move of the thread: the caller must be able to restart */
};

struct completion {
    struct spinlock lock;
    bool done;    /* [k] lock */
    void *waiter; /* [k] lock: the thread that waits, or NULL; one at most */
};

/* The scheduler's side; registered once before the first wait. */
struct wait_ops {
    void *(*current)(void);
    /* Blocks the current thread and releases LOCK such that no wake in between is lost. Returns with LOCK free when the
     * thread is woken, at DEADLINE (ns, as clock_now; 0: none), or when a condition of END occurs. */
    void (*block)(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline);
    bool (*ended)(enum wait_end end); /* returns whether a condition of END holds for the current thread */
    void (*due_changed)(void);        /* the time at which a CPU has to poll for messages has changed: msg_due */
    void (*breathe)(void);            /* as sched_breathe: pending interrupts, and other threads that come first */
    bool (*alone)(
        void); /* no other thread is ready on this CPU, so the caller may poll for messages before it blocks */
    /* Makes a blocked thread ready; harmless when it is not blocked. The caller passes the result to notify
     * after it has released its locks, because the CPU that runs the thread may need them at once. */
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
/* As completion_wait, but gives up at DEADLINE (ns, as clock_now; 0: never) and when a condition of END occurs. Returns
 * false if it gave up; C may still be signalled then. */
bool completion_wait_until(struct completion *c, const struct wait_reason *reason, enum wait_end end,
                           uint64_t deadline);
/* Ends the wait, even if it has not started yet. Any context. C may be freed as soon as the waiter has returned. */
void completion_signal(struct completion *c);
/* The same for a caller that holds locks: it passes *NOTICE, 0 at first, to completion_notify after releasing them.
 * Several signals may use one NOTICE. */
void completion_signal_locked(struct completion *c, uint32_t *notice);
void completion_notify(uint32_t notice);

#endif
