/* The queues of waiters, on the kernel that owns the word: a hash table. Several words may share a bucket, whose list
 * is in order of real-time priorities, and of arrival where these are equal. Threads and handlers of this kernel use it
 * at once; no function here waits.
 *
 * Lock order: the table of waiters of other kernels (remote.c), buckets by ascending address, then the lock of a
 * completion, then run queues. Under a bucket's lock, no user memory is accessed and no message is sent. */
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "msg/channel.h"
#include "tasks/futex/futex.h"
#include "tasks/futex/internal.h"
#include "tasks/futex/pi/pi.h"
#include "tasks/futex/word/object.h"

struct futex_bucket futex_buckets[FUTEX_BUCKETS];

_Static_assert(FUTEX_BUCKETS <= 64 * (MSG_BOARD_WORDS - MSG_BOARD_FUTEX), "the board has a bit for each bucket");

static volatile uint64_t *board_of(const struct futex_bucket *bucket, uint64_t *bit)
{
    uint64_t number = (uint64_t)(bucket - futex_buckets);

    *bit = 1ull << number % 64;
    return &msg_board_own()[MSG_BOARD_FUTEX + number / 64];
}

/* Publishes that BUCKET has waiters. The locked instruction orders that before what the thread, or the answer to it,
 * does next; if the bit is set already, every waker sees it. */
static void publish_locked(struct futex_bucket *bucket)
{
    uint64_t bit;
    volatile uint64_t *word = board_of(bucket, &bit);

    bucket->published = true;
    __atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
}

/* Its locked instruction is a fence, as futex_queue_join needs it. */
static __attribute__((noinline)) void publish_unlock(struct futex_bucket *bucket)
{
    publish_locked(bucket);
    spin_unlock(&bucket->lock);
}

void futex_queue_found_empty(const struct futex_key *key)
{
    struct futex_bucket *bucket = futex_bucket_of(key);
    uint64_t bit;
    volatile uint64_t *word = board_of(bucket, &bit);

    spin_lock(&bucket->lock);
    if (list_empty(&bucket->waiters)) {
        __atomic_fetch_and(word, ~bit, __ATOMIC_SEQ_CST);
        bucket->published = false;
    }
    spin_unlock(&bucket->lock);
}

bool futex_nobody_waits(uint32_t owner, const struct futex_key *key)
{
    uint32_t number = futex_bucket_number(key);
    const volatile uint64_t *board = msg_board_of(owner);

    if (board == NULL)
        return false;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the program's store precedes the look; pairs with publish_locked */
    return (__atomic_load_n(&board[MSG_BOARD_FUTEX + number / 64], __ATOMIC_RELAXED) >> number % 64 & 1) == 0;
}

/* Queues WAITER behind those of its priority. Threads that are not real-time ones are appended; the others walk from
 * the front, and so meet only real-time ones. */
static void queue_locked(struct futex_bucket *bucket, struct futex_waiter *waiter)
{
    struct list *before = &bucket->waiters;

    if (waiter->priority > 0)
        before = before->next;
    while (before != &bucket->waiters && container_of(before, struct futex_waiter, node)->priority >= waiter->priority)
        before = before->next;
    futex_object_count(&waiter->key, 1);
    waiter->number = ++bucket->numbers;
    list_insert_before(&waiter->node, before);
    __atomic_store_n(&waiter->bucket, bucket, __ATOMIC_RELEASE);
}

static void remove_locked(struct futex_waiter *waiter)
{
    list_remove(&waiter->node);
    futex_object_count(&waiter->key, -1);
}

void futex_queue_join(struct futex_waiter *waiter, const struct futex_key *key, uint32_t bitset)
{
    struct futex_bucket *bucket = futex_bucket_of(key);

    waiter->key = *key;
    waiter->first = *key;
    waiter->bitset = bitset;
    spin_lock(&bucket->lock);
    queue_locked(bucket, waiter);
    if (!bucket->published && instance.kernels > 1) {
        publish_unlock(bucket);
        return;
    }
    spin_unlock(&bucket->lock);
    if (cpu_several) /* wakers read the list without the lock: orders the insertion before this thread's read of the
                      * word; pairs with futex_queue_empty */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Woken waiters that have to be notified after the locks are released. */
struct notified {
    struct list remote; /* waiters of other kernels */
    uint32_t notice;    /* for completion_notify */
};

static void notify(struct notified *notified)
{
    completion_notify(notified->notice);
    futex_notify_woken(&notified->remote);
}

/* Removes WAITER from its queue and wakes it. A waiter of this kernel is signalled at once, and its memory may be gone
 * after the bucket's lock is released. */
static void wake_locked(struct futex_waiter *waiter, uint32_t bitset, struct notified *notified)
{
    struct futex_wait *wait = container_of(waiter, struct futex_wait, waiter);

    waiter->bitset = bitset;
    remove_locked(waiter);
    if (waiter->remote)
        list_append(&notified->remote, &waiter->node);
    __atomic_store_n(&waiter->bucket, NULL, __ATOMIC_RELEASE);
    if (waiter->remote)
        return;
    if (wait->any != NULL)
        completion_signal_locked(wait->any, &notified->notice);
    completion_signal_locked(&wait->woken, &notified->notice);
}

static uint32_t wake_some_locked(struct futex_bucket *bucket, const struct futex_key *key, uint32_t count,
                                 uint32_t bitset, struct notified *notified)
{
    uint32_t woken = 0;

    list_for_each_safe(node, &bucket->waiters) {
        struct futex_waiter *waiter = container_of(node, struct futex_waiter, node);

        if (woken == count)
            break;
        if (futex_same_key(&waiter->key, key) && (waiter->bitset & bitset) != 0) {
            wake_locked(waiter, bitset, notified);
            woken++;
        }
    }
    return woken;
}

uint32_t futex_queue_wake(const struct futex_key *key, uint32_t count, uint32_t bitset)
{
    struct futex_bucket *bucket = futex_bucket_of(key);
    struct notified notified = {.notice = 0};
    uint32_t woken = 0;

    if (futex_queue_empty(key))
        return 0;
    spin_lock(&bucket->lock);
    list_init(&notified.remote);
    woken = wake_some_locked(bucket, key, count, bitset, &notified);
    spin_unlock(&bucket->lock);
    notify(&notified);
    return woken;
}

uint64_t futex_queue_mark(const struct futex_key *key)
{
    struct futex_bucket *bucket = futex_bucket_of(key);
    uint64_t mark;

    spin_lock(&bucket->lock);
    mark = bucket->numbers;
    spin_unlock(&bucket->lock);
    return mark;
}

static void lock_two(struct futex_bucket *a, struct futex_bucket *b)
{
    spin_lock(a < b ? &a->lock : &b->lock);
    if (a != b)
        spin_lock(a < b ? &b->lock : &a->lock);
}

static void unlock_two(struct futex_bucket *a, struct futex_bucket *b)
{
    spin_unlock(&a->lock);
    if (a != b)
        spin_unlock(&b->lock);
}

uint32_t futex_queue_requeue(const struct msg_futex_requeue *request)
{
    struct futex_bucket *from = futex_bucket_of(&request->from);
    struct futex_bucket *to = futex_bucket_of(&request->to);
    uint32_t woken = 0, moved = 0;
    struct notified notified = {.notice = 0};
    uint64_t mark;

    list_init(&notified.remote);
    lock_two(from, to);
    mark = request->mark < from->numbers ? request->mark : from->numbers; /* excludes those that are moved below */
    list_for_each_safe(node, &from->waiters) {
        struct futex_waiter *waiter = container_of(node, struct futex_waiter, node);

        if (woken == request->wake && moved == request->requeue)
            break;
        if (!futex_same_key(&waiter->key, &request->from) || waiter->number > mark)
            continue;
        if (woken < request->wake) {
            wake_locked(waiter, FUTEX_ANY, &notified);
            woken++;
        } else {
            remove_locked(waiter);
            waiter->key = request->to;
            queue_locked(to, waiter);
            if (!to->published && instance.kernels > 1)
                publish_locked(to);
            moved++;
        }
    }
    unlock_two(from, to);
    notify(&notified);
    return woken + moved;
}

bool futex_queue_leave(struct futex_waiter *waiter)
{
    struct futex_bucket *bucket;

    while ((bucket = __atomic_load_n(&waiter->bucket, __ATOMIC_ACQUIRE)) != NULL) {
        bool here;

        spin_lock(&bucket->lock);
        here = waiter->bucket == bucket; /* otherwise it was requeued or woken meanwhile */
        if (here) {
            remove_locked(waiter);
            waiter->bucket = NULL;
        }
        spin_unlock(&bucket->lock);
        if (here)
            return true;
    }
    return false;
}

void futex_queue_pass_on(const struct futex_waiter *waiter)
{
    struct msg_futex_requeue again = {.from = waiter->first, .to = waiter->key, .mark = UINT64_MAX, .requeue = 1};

    if (!futex_same_key(&waiter->key, &waiter->first))
        futex_queue_requeue(&again);
}

void futex_init(void)
{
    for (uint32_t i = 0; i < FUTEX_BUCKETS; i++)
        list_init(&futex_buckets[i].waiters);
    futex_remote_init();
    futex_robust_init();
    pi_init();
}

uint64_t futex_count(void)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < FUTEX_BUCKETS; i++) {
        spin_lock(&futex_buckets[i].lock);
        list_for_each(node, &futex_buckets[i].waiters)
            count++;
        spin_unlock(&futex_buckets[i].lock);
    }
    return count;
}
