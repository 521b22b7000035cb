/* Shared by the futex files: the queues of waiters (the queue of a word is on one kernel, its owner), and how a thread
 * of any kernel joins, leaves and wakes them. tasks/futex/futex.md has the protocol. Marks: [i] set once, [a] atomic,
 * [k] under the named lock. */
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

/* A waiter may be in a bucket only while the bucket's bit on the owner's board is set. The bit is set with the first
 * waiter that finds it clear, and cleared when a waker of another kernel finds the bucket empty: so the owner's own
 * threads that wait and wake leave it alone. */
struct futex_bucket {
    struct spinlock lock;
    bool published;      /* [k] its bit on the board is set */
    struct list waiters; /* [k] */
    uint64_t numbers;    /* [k] number of waiters ever queued here */
};

extern struct futex_bucket futex_buckets[FUTEX_BUCKETS];

/* The number of the bucket of KEY, on whichever kernel. */
static inline uint32_t futex_bucket_number(const struct futex_key *key)
{
    uint64_t hash = (key->word ^ key->space << 40) * 0x9e3779b97f4a7c15ull; /* 2^64 divided by the golden ratio */

    return (uint32_t)(hash >> (64 - FUTEX_BUCKETS_SHIFT));
}

static inline struct futex_bucket *futex_bucket_of(const struct futex_key *key)
{
    return &futex_buckets[futex_bucket_number(key)];
}

/* For a waker of another kernel than OWNER that has stored to the word: true only if no waiter can have missed the
 * store. Reads the owner's board. */
bool futex_nobody_waits(uint32_t owner, const struct futex_key *key);

/* At the owner, for a waker that has stored to the word: true only if no waiter can have missed the store. */
static inline bool futex_queue_empty(const struct futex_key *key)
{
    const struct futex_bucket *bucket = futex_bucket_of(key);

    if (cpu_several) /* orders the program's store before this load, and pairs with the fence in futex_queue_join; with
                      * one CPU, handlers join queues in program order */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&bucket->waiters.next, __ATOMIC_RELAXED) == &bucket->waiters;
}

/* A waiter in a queue, at the owner. For a thread of this kernel it is part of struct futex_wait. */
struct futex_waiter {
    struct list node;            /* [k] the bucket's lock */
    struct futex_bucket *bucket; /* [a] changed under the lock of the bucket it is in; NULL: not queued */
    struct futex_key key;        /* [k] the bucket's lock; after a wake: the word of the wake */
    struct futex_key first;      /* [i] the word where it was queued, before any requeue */
    uint64_t number;             /* [k] the bucket's lock: order of arrival in the bucket */
    uint32_t priority;           /* [i] real-time priority when its thread began to wait, or 0 */
    uint32_t bitset;             /* [k] the bucket's lock; after a wake: the waker's */
    bool remote;                 /* [i] its thread is on another kernel */
};

/* A thread's wait, on its stack. */
struct futex_wait {
    struct futex_waiter waiter; /* with another owner kernel: only key and bitset are used, after a wake */
    struct completion woken;
    struct completion *any;      /* [i] signalled before WOKEN if the thread waits for several words, or NULL */
    uint32_t owner;              /* [i] kernel */
    struct remote_wait notified; /* with another owner kernel: the wait for its notification */
};

/* For a thread that is about to wait, whose word had the expected value: looks for a while whether it changes, if the
 * queue or a waker may be on another kernel and the CPU has nothing else to do. True: it has. Handles messages, and may
 * wait as sched_breathe and for a page. */
bool futex_poll(const struct futex_expected *expected, const struct futex_place *place);
/* Queues the current thread: from its return on, every wake of the word counts for WAIT until the thread leaves. ANY:
 * NULL, or a further completion to signal, which must stay valid until then. -ENOMEM. Waits for the owner's reply. */
int futex_join_any(struct futex_wait *wait, const struct futex_place *place, uint32_t bitset, struct completion *any);
static inline int futex_join(struct futex_wait *wait, const struct futex_place *place, uint32_t bitset)
{
    return futex_join_any(wait, place, bitset, NULL);
}
/* Ends a wait whose completion has not been waited for. True: it has been woken, and WAIT has the word and the bitset
 * of the wake. With DIFFERS, if a requeue has moved the waiter, another one is requeued in its place. Waits for the
 * owner, but not for other threads. */
bool futex_leave(struct futex_wait *wait, bool differs);
/* Ends a wait after its completion was waited for. */
void futex_woken(struct futex_wait *wait);

/* At the owner, for threads of any kernel. None of these waits. */
uint32_t futex_queue_wake(const struct futex_key *key, uint32_t count, uint32_t bitset);
uint64_t futex_queue_mark(const struct futex_key *key);
/* After a waker of another kernel has found no waiter of KEY. */
void futex_queue_found_empty(const struct futex_key *key);
uint32_t futex_queue_requeue(const struct msg_futex_requeue *request);
/* WAITER has its priority already. */
void futex_queue_join(struct futex_waiter *waiter, const struct futex_key *key, uint32_t bitset);
/* Removes WAITER. False: a waker has removed it already, and signals or notifies it. */
bool futex_queue_leave(struct futex_waiter *waiter);
/* WAITER has left and should not have been queued: if a requeue has moved it, another waiter of its first word is
 * requeued in its place. */
void futex_queue_pass_on(const struct futex_waiter *waiter);

/* From any kernel. They return the number of woken (and requeued) waiters, or 0 for a mark; errors are those of
 * remote_call. They wait for the owner's reply. */
int64_t futex_wake_at(const struct futex_place *place, uint32_t count, uint32_t bitset);
int64_t futex_mark_at(const struct futex_place *place, uint64_t *mark);
int64_t futex_requeue_at(uint32_t owner, const struct msg_futex_requeue *request);

/* Notifies the waiters of other kernels in the list WAITERS, which a waker has removed from their queue. Any
 * context. */
void futex_notify_woken(struct list *waiters);
void futex_remote_init(void);
void futex_robust_init(void);

/* Releases the words in shared memory that thread TID, of which nothing runs any more, holds by its robust list at LIST
 * of SPACE, as the thread's own end does. Tasks only; waits for memory and the words' owners. */
void futex_release_list(struct space *space, uint32_t tid, uint64_t list);

/* For a thread that is about to wait at PLACE while the word at ADDRESS has VALUE. If the word is in memory that
 * processes share, and VALUE says with FUTEX_WAITERS that a thread owns it that was lost with a kernel, the word
 * becomes one whose owner has died: -EAGAIN, as it has another value now. 0: it is none of these, or the caller may not
 * write it. May wait for a page. */
int futex_release_lost_word(uint64_t address, uint32_t value, const struct futex_place *place);

/* Leaves the queue for a thread that should not have been queued. If the thread has been woken, it wakes another waiter
 * in its place. Returns ERROR, or 0 if it has been woken and there is no other waiter. */
int64_t futex_give_up(struct futex_wait *wait, const struct futex_place *place, int64_t error);

/* Away from the home of THREAD, the current one, under the lock of its group: writes that its robust list is at LIST
 * into this kernel's notes at the home; LIST 0: there is none any more. False: the home has a record instead, or no
 * note is free. */
bool futex_note_set_locked(struct thread *thread, uint64_t list);
/* At the home of GROUP: calls EACH for what each of KERNELS has noted here of its threads. A peer may write anything.
 */
void futex_notes_each(const struct group *group, kernel_set kernels,
                      void (*each)(void *context, uint32_t thread, uint64_t list), void *context);

#endif
