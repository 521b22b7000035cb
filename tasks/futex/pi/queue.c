/* Who waits for locks that lend priority, on the home of the lock's word. See tasks/futex/pi/pi.md, table "Home".
 *
 * A lock is known here from the first waiter until it is free; a word at which threads are parked, while there are any.
 * Only locks that somebody waits for come here at all, so one spinlock serves for everything. Under it nothing is sent
 * and no other lock is taken: those who are to be told are told afterwards. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/futex/pi/internal.h"

#define BUCKETS 256u /* of both tables */

/* A lock, or a word where threads are parked. All [k] lock_of_all. */
struct pi_lock {
    struct list node;     /* in its bucket */
    struct futex_key key; /* [i] */
    bool word;            /* [i] not a lock */
    uint64_t granted;     /* its owner had it from here, in the wait with this token: so it is known until that gives it
                             back; or 0 */
    uint32_t owner;       /* thread id */
    uint64_t stamp;       /* when owner or urgency last changed */
    struct pi_urgency top; /* as of then */
    struct list waiters;   /* by real priority, then in order of arrival */
};

struct pi_waiter {
    struct list node;          /* [k] in lock->waiters, then among those to be told */
    struct list table;         /* [k] by kernel and token */
    struct pi_lock *lock;      /* [k] */
    struct futex_key to;       /* [i] parked: for this lock */
    uint64_t number;           /* [i] order of arrival */
    uint64_t token;            /* [i] */
    uint32_t kernel;           /* [i] */
    uint32_t thread;           /* [i] its id */
    struct pi_urgency urgency; /* [k] */
    struct msg_pi_told message;
    struct msg_outgoing outgoing;
};

static struct spinlock lock_of_all;
static struct list locks[BUCKETS];   /* [k] */
static struct list waiters[BUCKETS]; /* [k] */
static uint64_t last_stamp;          /* [k] */
static uint64_t last_number;         /* [k] */

static bool same(const struct futex_key *a, const struct futex_key *b)
{
    return a->word == b->word && a->space == b->space;
}

static struct list *bucket_of(const struct futex_key *key)
{
    return &locks[(key->word >> 2 ^ key->word >> 12 ^ key->space) % BUCKETS];
}

static struct pi_lock *find_locked(const struct futex_key *key, bool word)
{
    list_for_each(node, bucket_of(key)) {
        struct pi_lock *lock = container_of(node, struct pi_lock, node);

        if (lock->word == word && same(&lock->key, key))
            return lock;
    }
    return NULL;
}

static struct pi_waiter *find_waiter_locked(uint32_t kernel, uint64_t token)
{
    list_for_each(node, &waiters[token % BUCKETS]) {
        struct pi_waiter *waiter = container_of(node, struct pi_waiter, table);

        if (waiter->token == token && waiter->kernel == kernel)
            return waiter;
    }
    return NULL;
}

/* The lock of KEY, or the word, made if it is not known; NULL without memory. */
static struct pi_lock *get_locked(const struct futex_key *key, bool word, uint32_t owner)
{
    struct pi_lock *lock = find_locked(key, word);

    if (lock != NULL)
        return lock;
    lock = heap_alloc(sizeof(*lock));
    if (lock == NULL)
        return NULL;
    *lock = (struct pi_lock){.key = *key, .word = word, .owner = owner, .top = PI_IDLE};
    list_init(&lock->waiters);
    list_append(bucket_of(key), &lock->node);
    return lock;
}

static void forget_locked(struct pi_lock *lock)
{
    list_remove(&lock->node);
    heap_free(lock, sizeof(*lock));
}

/* Threads without a real priority are equal, as on Linux. */
static uint32_t rank_of(const struct pi_waiter *waiter)
{
    return waiter->urgency.policy >> POLICY_PRIORITY_SHIFT;
}

static void insert_locked(struct pi_lock *lock, struct pi_waiter *waiter)
{
    struct list *at = &lock->waiters;

    while (at->previous != &lock->waiters &&
           rank_of(container_of(at->previous, struct pi_waiter, node)) < rank_of(waiter))
        at = at->previous;
    waiter->lock = lock;
    list_insert_before(&waiter->node, at);
}

/* The most urgent of those that wait: real priorities are in order, the others' nice values are not. */
static struct pi_urgency top_locked(const struct pi_lock *lock)
{
    struct pi_urgency top = PI_IDLE;

    list_for_each(node, &lock->waiters) {
        const struct pi_waiter *waiter = container_of(node, struct pi_waiter, node);

        if (fair_urgency(waiter->urgency.policy, waiter->urgency.nice) > fair_urgency(top.policy, top.nice))
            top = waiter->urgency;
        if (rank_of(waiter) > 0)
            break;
    }
    return top;
}

/* The state of LOCK, whose waiters or owner may be others than before, is RESULT's. */
static void state_locked(struct pi_lock *lock, bool other_owner, struct msg_pi_result *result)
{
    struct pi_urgency top = top_locked(lock);
    uint64_t now = clock_now();

    if (other_owner || lock->stamp == 0 || top.policy != lock->top.policy || top.nice != lock->top.nice) {
        last_stamp = now > last_stamp ? now : last_stamp + 1; /* a home that comes after us goes on */
        lock->stamp = last_stamp;
        lock->top = top;
        result->changed = 1;
    }
    result->owner = lock->owner;
    result->stamp = lock->stamp;
    result->urgency = top;
}

/* WAITER is in no queue any more: TOLD. */
static void tell_locked(struct pi_waiter *waiter, enum pi_told told, struct list *tell)
{
    list_remove(&waiter->node);
    list_remove(&waiter->table);
    waiter->message = (struct msg_pi_told){.token = waiter->token, .told = told};
    list_append(tell, &waiter->node);
}

static void told_sent(struct msg_outgoing *outgoing)
{
    struct pi_waiter *waiter = container_of(outgoing, struct pi_waiter, outgoing);

    heap_free(waiter, sizeof(*waiter));
}

static void tell_all(struct list *tell)
{
    while (!list_empty(tell)) {
        struct pi_waiter *waiter = container_of(tell->next, struct pi_waiter, node);

        list_remove(&waiter->node);
        if (waiter->kernel == instance.kernel) {
            pi_take_told(&waiter->message);
            heap_free(waiter, sizeof(*waiter));
        } else {
            msg_post(&waiter->outgoing, waiter->kernel, MSG_PI_TOLD, &waiter->message, sizeof(waiter->message),
                     told_sent);
        }
    }
}

static int join_locked(uint32_t kernel, const struct msg_pi_pair *pair, bool word, struct msg_pi_result *result)
{
    const struct msg_pi_call *call = &pair->call;
    struct pi_waiter *waiter;
    struct pi_lock *lock;

    if (find_waiter_locked(kernel, call->token) != NULL)
        return -EPROTO;
    waiter = heap_alloc(sizeof(*waiter));
    lock = waiter != NULL ? get_locked(&call->key, word, call->owner) : NULL;
    if (lock == NULL) {
        heap_free(waiter, sizeof(*waiter));
        return -ENOMEM;
    }
    waiter->token = call->token;
    waiter->kernel = kernel;
    waiter->thread = call->thread;
    waiter->urgency = call->urgency;
    waiter->number = ++last_number;
    if (word)
        waiter->to = pair->to;
    list_append(&waiters[call->token % BUCKETS], &waiter->table);
    insert_locked(lock, waiter);
    if (!word)
        state_locked(lock, false, result);
    return 0;
}

static int leave_locked(struct pi_waiter *waiter, struct msg_pi_result *result)
{
    struct pi_lock *lock = waiter->lock;

    list_remove(&waiter->node);
    list_remove(&waiter->table);
    heap_free(waiter, sizeof(*waiter));
    if (!lock->word)
        state_locked(lock, false, result);
    if (list_empty(&lock->waiters) && lock->granted == 0) { /* who has it took it himself: his word is the truth */
        result->gone = 1;
        forget_locked(lock);
    }
    return 1;
}

static int change_locked(struct pi_waiter *waiter, struct pi_urgency urgency, struct msg_pi_result *result)
{
    uint32_t before = rank_of(waiter);

    waiter->urgency = urgency;
    if (rank_of(waiter) != before) {
        list_remove(&waiter->node);
        insert_locked(waiter->lock, waiter);
    }
    if (waiter->lock->word)
        return 0;
    state_locked(waiter->lock, false, result);
    return 1;
}

static int unlock_locked(const struct msg_pi_call *call, struct list *tell, struct msg_pi_result *result)
{
    struct pi_lock *lock = find_locked(&call->key, false);
    struct pi_waiter *waiter;

    if (lock == NULL || lock->owner != call->thread)
        return 0;
    if (list_empty(&lock->waiters)) {
        forget_locked(lock);
        return 0;
    }
    waiter = container_of(lock->waiters.next, struct pi_waiter, node);
    list_remove(&waiter->node); /* what is lent is the others' */
    lock->owner = waiter->thread;
    lock->granted = waiter->token;
    state_locked(lock, true, result);
    tell_locked(waiter, PI_GRANTED, tell);
    waiter->message.stamp = lock->stamp;
    waiter->message.urgency = lock->top;
    waiter->message.died = call->died;
    waiter->message.from = call->thread;
    return 0;
}

static int freed_locked(const struct msg_pi_call *call, struct list *tell, struct msg_pi_result *result)
{
    struct pi_lock *lock = find_locked(&call->key, false);
    int count = 0;

    result->stamp = last_stamp; /* what it was lent up to now is over */
    if (lock == NULL || lock->owner != call->owner)
        return 0;
    if (lock->granted != 0 && lock->granted != call->token && call->died == 0) {
        result->mark = lock->granted;
        return -EBUSY;
    }
    for (; !list_empty(&lock->waiters); count++)
        tell_locked(container_of(lock->waiters.next, struct pi_waiter, node), PI_AGAIN, tell);
    forget_locked(lock);
    return count;
}

/* Of those who wait at PAIR's word, COUNT of which have been taken: one who was there when the caller came, and not too
 * many. */
static bool is_meant(const struct pi_waiter *waiter, const struct msg_pi_pair *pair, uint32_t count)
{
    return waiter->number <= pair->mark && count != pair->call.count;
}

static int release_locked(const struct msg_pi_pair *pair, struct list *tell)
{
    struct pi_lock *word = find_locked(&pair->call.key, true);
    uint32_t count = 0;

    if (word == NULL)
        return 0;
    list_for_each_safe(node, &word->waiters) {
        struct pi_waiter *waiter = container_of(node, struct pi_waiter, node);

        if (!is_meant(waiter, pair, count))
            continue;
        tell_locked(waiter, PI_AGAIN, tell);
        count++;
    }
    if (list_empty(&word->waiters))
        forget_locked(word);
    return (int)count;
}

static int requeue_locked(const struct msg_pi_pair *pair, struct msg_pi_result *result)
{
    struct pi_lock *word = find_locked(&pair->call.key, true);
    struct pi_lock *lock = NULL;
    uint32_t count = 0;
    int error = 0;

    if (word == NULL)
        return 0;
    list_for_each_safe(node, &word->waiters) {
        struct pi_waiter *waiter = container_of(node, struct pi_waiter, node);

        if (!is_meant(waiter, pair, count))
            continue;
        if (!same(&waiter->to, &pair->to))
            error = -EINVAL;
        else if (waiter->thread == pair->call.owner)
            error = -EDEADLK;
        else if ((lock = get_locked(&pair->to, false, pair->call.owner)) == NULL)
            error = -ENOMEM;
        else if (waiter->thread == lock->owner)
            error = -EDEADLK;
        if (error != 0)
            break;
        list_remove(&waiter->node);
        insert_locked(lock, waiter);
        count++;
    }
    if (lock != NULL)
        state_locked(lock, false, result);
    if (list_empty(&word->waiters))
        forget_locked(word);
    return count > 0 ? (int)count : error;
}

static int waiter_locked(uint32_t kernel, const struct msg_pi_call *call, struct msg_pi_result *result)
{
    struct pi_waiter *waiter = find_waiter_locked(call->operation == PI_OWNER ? call->kernel : kernel, call->token);

    if (waiter == NULL)
        return 0;
    if (call->operation == PI_LEAVE)
        return leave_locked(waiter, result);
    if (call->operation == PI_CHANGE)
        return change_locked(waiter, call->urgency, result);
    result->owner = waiter->lock->owner; /* 0: of a word */
    return 0;
}

static int serve_locked(uint32_t kernel, const struct msg_pi_pair *pair, struct msg_pi_result *result,
                        struct list *tell)
{
    const struct msg_pi_call *call = &pair->call;
    const struct pi_lock *lock;

    switch (call->operation) {
    case PI_JOIN:
    case PI_PARK:
        return join_locked(kernel, pair, call->operation == PI_PARK, result);
    case PI_LEAVE:
    case PI_CHANGE:
    case PI_OWNER:
        return waiter_locked(kernel, call, result);
    case PI_HELD:
        lock = find_locked(&call->key, false);
        return lock != NULL && lock->owner == call->owner ? 1 : 0;
    case PI_UNLOCK:
        return unlock_locked(call, tell, result);
    case PI_FREED:
        return freed_locked(call, tell, result);
    case PI_MARK:
        result->mark = last_number;
        return 0;
    case PI_RELEASE:
        return release_locked(pair, tell);
    case PI_REQUEUE:
        return requeue_locked(pair, result);
    default:
        return -EPROTO;
    }
}

void pi_serve(uint32_t kernel, const struct msg_pi_pair *pair, struct msg_pi_result *result)
{
    struct list tell;

    list_init(&tell);
    memset(result, 0, sizeof(*result));
    spin_lock(&lock_of_all);
    result->value = serve_locked(kernel, pair, result, &tell);
    spin_unlock(&lock_of_all);
    tell_all(&tell);
}

void pi_queue_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_init(&locks[i]);
        list_init(&waiters[i]);
    }
}
