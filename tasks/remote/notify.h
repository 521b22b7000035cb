/* Remote wakeup: a task waits, and another kernel notifies the task's kernel, once, that the awaited event has
 * happened. A wait has a token, which is never reused; the kernel that is to notify it keeps the token and the waiter's
 * kernel, and sends a notice with a few words for the waiter. A notice for a wait that is over is dropped.
 * tasks/remote/remote.md has the protocol.
 *
 * Lock order: the table of waits, then what NOTIFIED takes. Marks: [i] set once, [k] the table's lock. */
#ifndef TASKS_REMOTE_NOTIFY_H
#define TASKS_REMOTE_NOTIFY_H

#include <stdint.h>

#include "kernel/lib/list.h"
#include "msg/channel.h"

#define REMOTE_WORDS 5u /* words that a notice carries for the waiter */

struct msg_notify { /* NOTIFY */
    uint64_t token;
    uint64_t words[REMOTE_WORDS];
};

/* A wait of a task of this kernel, in the waiter's memory. */
struct remote_wait {
    struct list node; /* [k] */
    uint64_t token;   /* [i] */
    uint32_t kernel;  /* [i] the kernel that may notify it, or REMOTE_ANY */
    /* Called when the notice arrives, with its REMOTE_WORDS words. In a handler, under the table's lock: must not wait.
     * WAIT stays in the table until remote_wait_end. */
    void (*notified)(struct remote_wait *wait, const uint64_t *words); /* [i] */
    /* [k] NULL, or set by `notified`, which must then keep WAIT's memory valid: called once without the lock.
     */
    void (*after)(struct remote_wait *wait);
};
#define REMOTE_ANY UINT32_MAX /* several kernels may notify it, each once */

/* Puts WAIT, which KERNEL (perhaps this one) or REMOTE_ANY may notify, into the table under a new token. Any
 * context. */
void remote_wait_begin(struct remote_wait *wait, uint32_t kernel,
                       void (*notified)(struct remote_wait *wait, const uint64_t *words));
/* From now on WAIT is not notified any more. Any context without the table's lock. */
void remote_wait_end(struct remote_wait *wait);

/* A notice on its way, in the sender's memory. */
struct remote_notice {
    struct msg_outgoing outgoing;
    struct msg_notify message;
    void (*done)(struct remote_notice *notice);
};

/* Sends NOTICE, whose words are set. Used by remote_notify. */
void remote_notice_send(struct remote_notice *notice, uint32_t kernel, uint64_t token,
                        void (*done)(struct remote_notice *notice));

/* Notifies the wait TOKEN of KERNEL, perhaps this one, with SIZE bytes at DATA (whole words, at most REMOTE_WORDS; the
 * others are zero). NOTICE must stay valid until DONE is called, which must not wait and may happen before this
 * returns. Any context without the locks that the waiter's NOTIFIED takes; never waits. */
static inline void remote_notify(struct remote_notice *notice, uint32_t kernel, uint64_t token, const void *data,
                                 uint32_t size, void (*done)(struct remote_notice *notice))
{
    const uint64_t *words = data;

    for (uint32_t i = 0; i < REMOTE_WORDS; i++) /* unrolled where SIZE is a constant */
        notice->message.words[i] = words != NULL && i < size / 8 ? words[i] : 0;
    remote_notice_send(notice, kernel, token, done);
}

/* Registers the message. Once. */
void remote_notify_init(void);

#endif
