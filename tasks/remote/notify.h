/* Remote wakeup: a task waits, and another kernel, the notifier, notifies the task's kernel once when the awaited event
 * has happened. A wait has a token, which is never reused. The notifier keeps the token and the number of the waiter's
 * kernel, and sends a notice with a few words for the waiter. A notice for a wait that is over is dropped. The protocol
 * is in tasks/remote/remote.md.
 *
 * Lock order: the lock of the table of waits, then the locks that NOTIFIED takes. Ownership marks: [i] set once, [k]
 * the table's lock. */
#ifndef TASKS_REMOTE_NOTIFY_H
#define TASKS_REMOTE_NOTIFY_H

#include <stdint.h>

#include "kernel/lib/list.h"
#include "msg/channel.h"

#define REMOTE_WORDS 5u /* words for the waiter in a notice */

struct msg_notify { /* NOTIFY */
    uint64_t token;
    uint64_t words[REMOTE_WORDS];
};

/* A wait of a task of this kernel, in the waiter's memory. */
struct remote_wait {
    struct list node; /* [k] */
    uint64_t token;   /* [i] */
    uint32_t kernel;  /* [i] the notifier, or REMOTE_ANY */
    /* Called when the notice arrives, with its REMOTE_WORDS words, in a handler and under the table's lock: it must not
     * wait. WAIT stays in the table until remote_wait_end. */
    void (*notified)(struct remote_wait *wait, const uint64_t *words); /* [i] */
    /* [k] NULL, or set by `notified` to have this called once, without the lock; the one who sets it keeps WAIT's
     * memory valid until then. */
    void (*after)(struct remote_wait *wait);
};
#define REMOTE_ANY UINT32_MAX /* any kernel may notify the wait, each once */

/* Puts WAIT into the table under a new token. KERNEL, perhaps this one, is its notifier, or KERNEL is REMOTE_ANY. Any
 * context. */
void remote_wait_begin(struct remote_wait *wait, uint32_t kernel,
                       void (*notified)(struct remote_wait *wait, const uint64_t *words));
/* Takes WAIT out of the table: from now on `notified` is not called and does not run. Any context without the table's
 * lock. */
void remote_wait_end(struct remote_wait *wait);

/* KERNEL has died: calls `notified` with zeros for every wait that it may have been about to notify, so that the waiter
 * looks again. Any context without locks. */
void remote_wait_lost(uint32_t kernel);

/* A notice on its way, in the notifier's memory. */
struct remote_notice {
    struct msg_outgoing outgoing;
    struct msg_notify message;
    void (*done)(struct remote_notice *notice);
};

/* Sends NOTICE, whose words are already set. Used by remote_notify. */
void remote_notice_send(struct remote_notice *notice, uint32_t kernel, uint64_t token,
                        void (*done)(struct remote_notice *notice));

/* Notifies the wait TOKEN of KERNEL, perhaps this one. The notice's words are the SIZE bytes at DATA, which are whole
 * words and at most REMOTE_WORDS; its other words are zero. NOTICE must stay valid until DONE is called, perhaps before
 * this function returns; DONE must not wait. Any context without the locks that the waiter's NOTIFIED takes; never
 * waits. */
static inline void remote_notify(struct remote_notice *notice, uint32_t kernel, uint64_t token, const void *data,
                                 uint32_t size, void (*done)(struct remote_notice *notice))
{
    const uint64_t *words = data;

    for (uint32_t i = 0; i < REMOTE_WORDS; i++) /* unrolled if SIZE is a constant */
        notice->message.words[i] = words != NULL && i < size / 8 ? words[i] : 0;
    remote_notice_send(notice, kernel, token, done);
}

/* Registers NOTIFY. Called once, at start. */
void remote_notify_init(void);

#endif
