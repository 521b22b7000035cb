/* What the files of the futex share: the queues of waiters, which live on one kernel for each word, and how a thread
 * of any kernel joins, leaves and wakes them. tasks/futex/futex.md has the protocol. */
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

/* At the owner, for a waker who has stored: nobody waits who could have missed that. */
static inline bool futex_queue_empty(const struct futex_key *key)
{
    const struct futex_bucket *bucket = futex_bucket_of(key);

    if (cpu_several) /* between the program's store and our look; a handler joins on the kernel's one CPU, in order */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&bucket->waiters.next, __ATOMIC_RELAXED) == &bucket->waiters;
}

/* A place in a queue, at the owner. Of the kernel's own threads it is part of struct futex_wait. */
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
    struct completion *any;  /* [i] signalled before it, or NULL: of a thread that waits for several words */
    uint32_t owner;          /* [i] kernel */
    struct remote_wait told; /* owner elsewhere: what it tells */
};

/* Queues the current thread: every wake from the return of this on counts for WAIT, until it has left. ANY: NULL, or
 * what is signalled besides, and stays until it has left. -ENOMEM. */
int futex_join_any(struct futex_wait *wait, const struct futex_place *place, uint32_t bitset, struct completion *any);
static inline int futex_join(struct futex_wait *wait, const struct futex_place *place, uint32_t bitset)
{
    return futex_join_any(wait, place, bitset, NULL);
}
/* Ends a wait whose completion was not seen. True: it has been woken, and WAIT says where and with which bitset. With
 * DIFFERS another waiter takes its place in a requeue that it has been subject to. Waits, but not for other threads. */
bool futex_leave(struct futex_wait *wait, bool differs);
/* Ends a wait whose completion was seen. */
void futex_woken(struct futex_wait *wait);

/* At the owner, for its own threads and for others: never wait. */
uint32_t futex_queue_wake(const struct futex_key *key, uint32_t count, uint32_t bitset);
uint64_t futex_queue_mark(const struct futex_key *key);
uint32_t futex_queue_requeue(const struct msg_futex_requeue *request);
void futex_queue_join(struct futex_waiter *waiter, const struct futex_key *key, uint32_t bitset);
/* True: it was still in a queue. Else whoever took it out of there signals it. */
bool futex_queue_leave(struct futex_waiter *waiter);
/* WAITER has left and should never have been queued: another takes its place in the requeue that moved it, if any. */
void futex_queue_pass_on(const struct futex_waiter *waiter);

/* From anywhere: wakes up to COUNT; how many. Errors: those of remote_call. */
int64_t futex_wake_at(const struct futex_place *place, uint32_t count, uint32_t bitset);
int64_t futex_mark_at(const struct futex_place *place, uint64_t *mark);
int64_t futex_requeue_at(uint32_t owner, const struct msg_futex_requeue *request);

/* For waiters of other kernels, which have been taken out of their queue: tells them. Any context. */
void futex_tell_woken(struct list *waiters);
void futex_remote_init(void);

/* A thread that waits should not have been queued and leaves: ERROR, or 0 when it was woken and nobody is left to be
 * woken in its place. */
int64_t futex_give_up(struct futex_wait *wait, const struct futex_place *place, int64_t error);

#endif
