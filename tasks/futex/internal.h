/* Shared by the futex files: the queues of waiters (the queue of a word is on one kernel), and how a thread of any
 * kernel joins, leaves and wakes them. tasks/futex/futex.md has the protocol. */
#ifndef TASKS_FUTEX_INTERNAL_H
#define TASKS_FUTEX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/list.h"
#include "kernel/wait/completion.h"
#include "tasks/futex/wire.h"
#include "tasks/remote/notify.h"

#define FUTEX_ANY UINT32_MAX /* bitset */

#define FUTEX_BUCKETS_SHIFT 10u
#define FUTEX_BUCKETS (1u << FUTEX_BUCKETS_SHIFT)

struct futex_bucket {
    struct spinlock lock;
    struct list waiters; /* [k] */
    uint64_t numbers;    /* [k] waiters ever queued here */
};

extern struct futex_bucket futex_buckets[FUTEX_BUCKETS];

static inline struct futex_bucket *futex_bucket_of(const struct futex_key *key)
{
    uint64_t hash = (key->word ^ key->space << 40) * 0x9e3779b97f4a7c15ull; /* 2^64 divided by the golden ratio */

    return &futex_buckets[hash >> (64 - FUTEX_BUCKETS_SHIFT)];
}

/* At the owner, for a waker that has stored to the word: true if no waiter can have missed the store. */
static inline bool futex_queue_empty(const struct futex_key *key)
{
    const struct futex_bucket *bucket = futex_bucket_of(key);

    if (cpu_several) /* between the program's store and our look; a handler joins on the kernel's one CPU, in order */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&bucket->waiters.next, __ATOMIC_RELAXED) == &bucket->waiters;
}

/* A place in a queue, at the owner. For the kernel's own threads it is part of struct futex_wait. */
struct futex_waiter {
    struct list node;            /* [k] the bucket's lock */
    struct futex_bucket *bucket; /* [a] changed under the lock of the bucket it is in; NULL: not queued */
    struct futex_key key;        /* [k] the bucket's lock; once woken: where */
    struct futex_key first;      /* [i] where it was queued, before any requeue */
    uint64_t number;             /* [k] the bucket's lock: order of arrival in the bucket */
    uint32_t bitset;             /* [k] the bucket's lock; once woken: the waker's */
    bool remote;                 /* [i] of another kernel */
};

/* A thread's wait, on its stack. */
struct futex_wait {
    struct futex_waiter waiter; /* owner elsewhere: only key and bitset are used, once woken */
    struct completion woken;
    struct completion *any;  /* [i] signalled before WOKEN if the thread waits for several words, or NULL */
    uint32_t owner;          /* [i] kernel */
    struct remote_wait told; /* owner elsewhere: its notification */
};

/* Queues the current thread: every wake after this returns counts for WAIT until it has left. ANY: NULL, or a further
 * completion to signal, which must stay valid until WAIT has left. -ENOMEM. */
int futex_join_any(struct futex_wait *wait, const struct futex_place *place, uint32_t bitset, struct completion *any);
static inline int futex_join(struct futex_wait *wait, const struct futex_place *place, uint32_t bitset)
{
    return futex_join_any(wait, place, bitset, NULL);
}
/* Ends a wait whose completion was not seen. True: it has been woken, and WAIT says where and with which bitset. With
 * DIFFERS another waiter takes its place in a requeue that has moved it. Waits, but not for other threads. */
bool futex_leave(struct futex_wait *wait, bool differs);
/* Ends a wait whose completion was seen. */
void futex_woken(struct futex_wait *wait);

/* At the owner, for threads of any kernel: never wait. */
uint32_t futex_queue_wake(const struct futex_key *key, uint32_t count, uint32_t bitset);
uint64_t futex_queue_mark(const struct futex_key *key);
uint32_t futex_queue_requeue(const struct msg_futex_requeue *request);
void futex_queue_join(struct futex_waiter *waiter, const struct futex_key *key, uint32_t bitset);
/* True: it was still in a queue. False: the waker that removed it signals it. */
bool futex_queue_leave(struct futex_waiter *waiter);
/* WAITER has left and should never have been queued: another takes its place in the requeue that moved it, if any. */
void futex_queue_pass_on(const struct futex_waiter *waiter);

/* From any kernel: wakes up to COUNT waiters, returns how many. Errors are those of remote_call. */
int64_t futex_wake_at(const struct futex_place *place, uint32_t count, uint32_t bitset);
int64_t futex_mark_at(const struct futex_place *place, uint64_t *mark);
int64_t futex_requeue_at(uint32_t owner, const struct msg_futex_requeue *request);

/* Notifies waiters of other kernels, which have been removed from their queue. Any context. */
void futex_notify_woken(struct list *waiters);
void futex_remote_init(void);

/* Leaves the queue for a thread that should not have been queued. Returns ERROR, or 0 if it was woken and no other
 * waiter is left to wake in its place. */
int64_t futex_give_up(struct futex_wait *wait, const struct futex_place *place, int64_t error);

#endif
