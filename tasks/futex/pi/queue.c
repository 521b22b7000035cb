/* The queues of waiters for priority-inheriting futexes, on the home of the lock's word. See tasks/futex/pi/pi.md,
 * table "Home".
 *
 * The home knows a lock from its first waiter until it is free, and a word while threads are parked at it. Only locks
 * with waiters come here, so one spinlock guards all of them. Under it, no message is sent and no other lock is taken:
 * waiters are notified after it is released. Operations run in handlers or in tasks of this kernel, and do not wait. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/futex/pi/internal.h"
#include "tasks/futex/word/object.h"

#define BUCKETS 256u /* of each of the two tables */

/* A lock, or a word where threads are parked. All fields but those marked [i] are under lock_of_all. */
struct pi_lock {
    struct list node;     /* in its bucket */
    struct futex_key key; /* [i] */
    bool word;            /* [i] this is a word with parked threads, not a lock */
    uint64_t granted;     /* nonzero: granted by the home, in the owner's wait with this token; known until released */
    uint32_t owner;       /* thread id */
    uint64_t stamp;       /* of the last change of owner or priority */
    struct pi_priority top; /* highest priority at that time */
    struct list waiters;    /* by real-time priority, then in order of arrival */
};

struct pi_waiter {
    struct list node;            /* [k] in lock->waiters, then in a list of waiters to be notified */
    struct list table;           /* [k] by kernel and token */
    struct pi_lock *lock;        /* [k] */
    struct futex_key to;         /* [i] the lock that it waits for, also while it is parked */
    uint64_t number;             /* [i] order of arrival */
    uint64_t token;              /* [i] */
    uint32_t kernel;             /* [i] */
    uint32_t thread;             /* [i] its id */
    struct pi_priority priority; /* [k] */
    struct pi_notice notified;   /* [k] until it is in no queue; then of the notifying operation */
    struct remote_notice notice;
};

static struct spinlock lock_of_all;
static struct list locks[BUCKETS];   /* [k] */
static struct list waiters[BUCKETS]; /* [k] */
static uint64_t last_stamp;          /* [k] */
static uint64_t last_number;         /* [k] */

static struct list *bucket_of(const struct futex_key *key)
{
    return &locks[(key->word >> 2 ^ key->word >> 12 ^ key->space) % BUCKETS];
}

static struct pi_lock *find_locked(const struct futex_key *key, bool word)
{
    list_for_each(node, bucket_of(key)) {
        struct pi_lock *lock = container_of(node, struct pi_lock, node);

        if (lock->word == word && futex_same_key(&lock->key, key))
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

/* The lock of KEY, or the word, made if it is not known yet; NULL: no memory. */
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
    futex_object_count(key, 1);
    return lock;
}

static void forget_locked(struct pi_lock *lock)
{
    list_remove(&lock->node);
    futex_object_count(&lock->key, -1);
    heap_free(lock, sizeof(*lock));
}

/* Threads without a real-time priority have equal ranks, as on Linux. */
static uint32_t rank_of(const struct pi_waiter *waiter)
{
    return waiter->priority.policy >> POLICY_PRIORITY_SHIFT;
}

/* The walk from the front meets real-time waiters only; others are appended. */
static void insert_locked(struct pi_lock *lock, struct pi_waiter *waiter)
{
    struct list *before = &lock->waiters;

    if (rank_of(waiter) > 0)
        before = before->next;
    while (before != &lock->waiters && rank_of(container_of(before, struct pi_waiter, node)) >= rank_of(waiter))
        before = before->next;
    waiter->lock = lock;
    list_insert_before(&waiter->node, before);
}

/* The highest priority among the waiters: the queue is in order of real-time priorities, but not of nice values. */
static struct pi_priority top_locked(const struct pi_lock *lock)
{
    struct pi_priority top = PI_IDLE;

    list_for_each(node, &lock->waiters) {
        const struct pi_waiter *waiter = container_of(node, struct pi_waiter, node);

        if (fair_priority(waiter->priority.policy, waiter->priority.nice) > fair_priority(top.policy, top.nice))
            top = waiter->priority;
        if (rank_of(waiter) > 0)
            break;
    }
    return top;
}

/* Fills in STATE with the state of LOCK, whose waiters may have changed, and its owner with OTHER_OWNER. A change gets
 * a new stamp. */
static void state_locked(struct pi_lock *lock, bool other_owner, struct msg_pi_state *state)
{
    struct pi_priority top = top_locked(lock);
    uint64_t now = clock_now();

    if (other_owner || lock->stamp == 0 || top.policy != lock->top.policy || top.nice != lock->top.nice) {
        last_stamp = now > last_stamp ? now : last_stamp + 1; /* grows even if the home changes */
        lock->stamp = last_stamp;
        lock->top = top;
        state->changed = 1;
    }
    state->owner = lock->owner;
    state->stamp = lock->stamp;
    state->priority = top;
}

/* Removes WAITER from its queue, and appends it to TELL with the notification TOLD. */
static void notify_locked(struct pi_waiter *waiter, enum pi_notified notified, struct list *notify)
{
    list_remove(&waiter->node);
    list_remove(&waiter->table);
    waiter->notified = (struct pi_notice){.notified = notified};
    list_append(notify, &waiter->node);
}

static void was_notified(struct remote_notice *notice)
{
    struct pi_waiter *waiter = container_of(notice, struct pi_waiter, notice);

    heap_free(waiter, sizeof(*waiter));
}

static void notify_all(struct list *notify)
{
    while (!list_empty(notify)) {
        struct pi_waiter *waiter = container_of(notify->next, struct pi_waiter, node);

        list_remove(&waiter->node);
        remote_notify(&waiter->notice, waiter->kernel, waiter->token, &waiter->notified, sizeof(waiter->notified),
                      was_notified);
    }
}

/* --- operations: as remote_run, under the lock; they append waiters to TELL that are notified afterwards --- */

/* Makes a waiter of KERNEL for the lock TO; NULL: no memory. */
static struct pi_waiter *new_waiter(uint32_t kernel, uint64_t token, uint32_t thread, struct pi_priority priority,
                                    const struct futex_key *to)
{
    struct pi_waiter *waiter = heap_alloc(sizeof(*waiter));

    if (waiter == NULL)
        return NULL;
    waiter->token = token;
    waiter->kernel = kernel;
    waiter->thread = thread;
    waiter->priority = priority;
    waiter->to = *to;
    return waiter;
}

/* Queues WAITER for the lock of KEY, or at the word, or frees it on an error. A WAITER of NULL: -ENOMEM; a token that
 * is queued already: -EPROTO. */
static int add_locked(struct pi_waiter *waiter, const struct futex_key *key, bool word, uint32_t owner)
{
    bool twice = waiter != NULL && find_waiter_locked(waiter->kernel, waiter->token) != NULL;
    struct pi_lock *lock = waiter != NULL && !twice ? get_locked(key, word, owner) : NULL;

    if (lock == NULL) {
        heap_free(waiter, sizeof(*waiter));
        return twice ? -EPROTO : -ENOMEM;
    }
    waiter->number = ++last_number;
    list_append(&waiters[waiter->token % BUCKETS], &waiter->table);
    insert_locked(lock, waiter);
    return 0;
}

static int join_locked(const struct remote_request *request, void *result, struct list *notify)
{
    const struct msg_pi_join *join = request->data;
    struct msg_pi_state *state = result;
    struct pi_waiter *waiter = new_waiter(request->kernel, join->token, join->thread, join->priority, &join->key);
    int error = add_locked(waiter, &join->key, false, join->owner);

    (void)notify;
    if (error != 0)
        return error;
    *state = (struct msg_pi_state){.count = 0};
    state_locked(waiter->lock, false, state);
    return sizeof(*state);
}

static int park_locked(const struct remote_request *request, void *result, struct list *notify)
{
    const struct msg_pi_park *park = request->data;

    (void)result;
    (void)notify;
    return add_locked(new_waiter(request->kernel, park->token, park->thread, park->priority, &park->to), &park->key,
                      true, 0);
}

static int leave_locked(const struct remote_request *request, void *result, struct list *notify)
{
    const struct msg_pi_leave *leave = request->data;
    struct msg_pi_state *state = result;
    struct pi_waiter *waiter = find_waiter_locked(request->kernel, leave->token);
    struct pi_lock *lock;

    (void)notify;
    *state = (struct msg_pi_state){.count = waiter != NULL};
    if (waiter == NULL)
        return sizeof(*state);
    lock = waiter->lock;
    list_remove(&waiter->node);
    list_remove(&waiter->table);
    heap_free(waiter, sizeof(*waiter));
    if (!lock->word)
        state_locked(lock, false, state);
    if (list_empty(&lock->waiters) && lock->granted == 0) { /* not granted here: its owner is known from the word */
        state->gone = 1;
        forget_locked(lock);
    }
    return sizeof(*state);
}

static int change_locked(const struct remote_request *request, void *result, struct list *notify)
{
    const struct msg_pi_change *change = request->data;
    struct msg_pi_state *state = result;
    struct pi_waiter *waiter = find_waiter_locked(request->kernel, change->token);
    uint32_t before;

    (void)notify;
    *state = (struct msg_pi_state){.count = waiter != NULL && !waiter->lock->word};
    if (waiter == NULL)
        return sizeof(*state);
    before = rank_of(waiter);
    waiter->priority = change->priority;
    if (rank_of(waiter) != before) {
        list_remove(&waiter->node);
        insert_locked(waiter->lock, waiter);
    }
    if (!waiter->lock->word)
        state_locked(waiter->lock, false, state);
    return sizeof(*state);
}

static int owner_locked(const struct remote_request *request, void *result, struct list *notify)
{
    const struct msg_pi_owner *message = request->data;
    const struct pi_waiter *waiter = find_waiter_locked(message->kernel, message->token);
    struct msg_pi_thread *owner = result;

    (void)notify;
    *owner = (struct msg_pi_thread){.thread = waiter != NULL ? waiter->lock->owner : 0}; /* of a word: 0 */
    return sizeof(*owner);
}

static int held_locked(const struct remote_request *request, void *result, struct list *notify)
{
    const struct msg_pi_held *held = request->data;
    const struct pi_lock *lock = find_locked(&held->key, false);
    struct msg_pi_thread *owner = result;

    (void)notify;
    *owner = (struct msg_pi_thread){.thread = lock != NULL ? lock->owner : 0};
    return sizeof(*owner);
}

/* Grants LOCK to the first of its waiters. */
static void grant_locked(struct pi_lock *lock, const struct msg_pi_unlock *unlock, struct list *notify)
{
    struct pi_waiter *waiter = container_of(lock->waiters.next, struct pi_waiter, node);
    struct msg_pi_state state;

    list_remove(&waiter->node); /* before the state: only the remaining waiters donate to it */
    lock->owner = waiter->thread;
    lock->granted = waiter->token;
    state_locked(lock, true, &state);
    notify_locked(waiter, PI_GRANTED, notify);
    waiter->notified.stamp = lock->stamp;
    waiter->notified.priority = lock->top;
    waiter->notified.died = unlock->died;
    waiter->notified.from = unlock->owner;
}

static int unlock_locked(const struct remote_request *request, void *result, struct list *notify)
{
    const struct msg_pi_unlock *unlock = request->data;
    struct pi_lock *lock = find_locked(&unlock->key, false);
    struct msg_pi_thread *next = result;

    *next = (struct msg_pi_thread){.thread = 0};
    if (lock == NULL || lock->owner != unlock->owner)
        return sizeof(*next);
    if (list_empty(&lock->waiters)) {
        forget_locked(lock);
    } else {
        grant_locked(lock, unlock, notify);
        next->thread = lock->owner;
    }
    return sizeof(*next);
}

static int freed_locked(const struct remote_request *request, void *result, struct list *notify)
{
    const struct msg_pi_freed *freed = request->data;
    struct pi_lock *lock = find_locked(&freed->key, false);
    struct msg_pi_over *over = result;

    *over = (struct msg_pi_over){.stamp = last_stamp};
    if (lock == NULL || lock->owner != freed->owner)
        return sizeof(*over);
    if (lock->granted != 0 && lock->granted != freed->token && freed->died == 0) {
        over->granted = lock->granted;
        return sizeof(*over);
    }
    while (!list_empty(&lock->waiters))
        notify_locked(container_of(lock->waiters.next, struct pi_waiter, node), PI_AGAIN, notify);
    forget_locked(lock);
    return sizeof(*over);
}

static int mark_locked(const struct remote_request *request, void *result, struct list *notify)
{
    struct msg_pi_marked *marked = result;

    (void)request;
    (void)notify;
    marked->mark = last_number;
    return sizeof(*marked);
}

/* Whether REQUEUE applies to WAITER, after COUNT others: it was parked before the mark, and the maximal number is not
 * reached. */
static bool is_meant(const struct pi_waiter *waiter, const struct msg_pi_requeue *requeue, uint32_t count)
{
    return waiter->number <= requeue->mark && count != requeue->count;
}

static int release_locked(const struct remote_request *request, void *result, struct list *notify)
{
    const struct msg_pi_requeue *requeue = request->data;
    struct pi_lock *word = find_locked(&requeue->key, true);
    struct msg_pi_state *state = result;

    *state = (struct msg_pi_state){.count = 0};
    if (word == NULL)
        return sizeof(*state);
    list_for_each_safe(node, &word->waiters) {
        struct pi_waiter *waiter = container_of(node, struct pi_waiter, node);

        if (!is_meant(waiter, requeue, state->count))
            continue;
        notify_locked(waiter, PI_AGAIN, notify);
        state->count++;
    }
    if (list_empty(&word->waiters))
        forget_locked(word);
    return sizeof(*state);
}

/* Moves WAITER, which is parked, to the queue of the lock that REQUEUE names; *LOCK is that lock. */
static int move_locked(struct pi_waiter *waiter, const struct msg_pi_requeue *requeue, struct pi_lock **lock)
{
    if (!futex_same_key(&waiter->to, &requeue->to))
        return -EINVAL;
    if (waiter->thread == requeue->owner)
        return -EDEADLK;
    *lock = get_locked(&requeue->to, false, requeue->owner);
    if (*lock == NULL)
        return -ENOMEM;
    if (waiter->thread == (*lock)->owner)
        return -EDEADLK;
    list_remove(&waiter->node);
    insert_locked(*lock, waiter);
    return 0;
}

static int requeue_locked(const struct remote_request *request, void *result, struct list *notify)
{
    const struct msg_pi_requeue *requeue = request->data;
    struct pi_lock *word = find_locked(&requeue->key, true);
    struct msg_pi_state *state = result;
    struct pi_lock *lock = NULL;
    int error = 0;

    (void)notify;
    *state = (struct msg_pi_state){.count = 0};
    if (word == NULL)
        return sizeof(*state);
    list_for_each_safe(node, &word->waiters) {
        struct pi_waiter *waiter = container_of(node, struct pi_waiter, node);

        if (!is_meant(waiter, requeue, state->count))
            continue;
        error = move_locked(waiter, requeue, &lock);
        if (error != 0)
            break;
        state->count++;
    }
    if (lock != NULL)
        state_locked(lock, false, state);
    if (list_empty(&word->waiters))
        forget_locked(word);
    return state->count > 0 || error == 0 ? (int)sizeof(*state) : error;
}

typedef int (*pi_serve)(const struct remote_request *request, void *result, struct list *notify);
#define ROW(name) [MSG_PI_##name % MSG_PI_JOIN] /* the types are below twice the first one */
static const pi_serve serve[] = {ROW(JOIN) = join_locked,       ROW(PARK) = park_locked,      ROW(LEAVE) = leave_locked,
                                 ROW(CHANGE) = change_locked,   ROW(OWNER) = owner_locked,    ROW(HELD) = held_locked,
                                 ROW(UNLOCK) = unlock_locked,   ROW(FREED) = freed_locked,    ROW(MARK) = mark_locked,
                                 ROW(RELEASE) = release_locked, ROW(REQUEUE) = requeue_locked};

static int run(const struct remote_request *request, void *result)
{
    struct list notify;
    int length;

    list_init(&notify);
    spin_lock(&lock_of_all);
    length = serve[request->type - MSG_PI_JOIN](request, result, &notify);
    spin_unlock(&lock_of_all);
    notify_all(&notify);
    return length;
}

/* Returns a waiter of KERNEL in LIST, or NULL. */
static const struct pi_waiter *waiter_of_locked(const struct list *list, uint32_t kernel)
{
    list_for_each(node, list) {
        const struct pi_waiter *waiter = container_of(node, const struct pi_waiter, table);

        if (waiter->kernel == kernel)
            return waiter;
    }
    return NULL;
}

/* Has a waiter of KERNEL in LIST leave its queue. False: there is none. */
static bool lose_one(const struct list *list, uint32_t kernel)
{
    struct remote_request leaving = {.type = MSG_PI_LEAVE, .kernel = kernel};
    const struct pi_waiter *waiter;
    struct msg_pi_leave leave;
    struct msg_pi_state state;

    spin_lock(&lock_of_all);
    waiter = waiter_of_locked(list, kernel);
    if (waiter != NULL) {
        leave = (struct msg_pi_leave){.token = waiter->token};
        leaving.data = &leave;
        leave_locked(&leaving, &state, NULL);
    }
    spin_unlock(&lock_of_all);
    return waiter != NULL;
}

void pi_lost(uint32_t kernel)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        while (lose_one(&waiters[i], kernel))
            slice_check();
    }
}

void pi_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_init(&locks[i]);
        list_init(&waiters[i]);
    }
    REMOTE_SERVE(PI_JOIN, run, NULL, struct msg_pi_join, struct msg_pi_state);
    REMOTE_SERVE(PI_PARK, run, NULL, struct msg_pi_park, struct msg_none);
    REMOTE_SERVE(PI_LEAVE, run, NULL, struct msg_pi_leave, struct msg_pi_state);
    REMOTE_SERVE(PI_CHANGE, run, NULL, struct msg_pi_change, struct msg_pi_state);
    REMOTE_SERVE(PI_OWNER, run, NULL, struct msg_pi_owner, struct msg_pi_thread);
    REMOTE_SERVE(PI_HELD, run, NULL, struct msg_pi_held, struct msg_pi_thread);
    REMOTE_SERVE(PI_UNLOCK, run, NULL, struct msg_pi_unlock, struct msg_pi_thread);
    REMOTE_SERVE(PI_FREED, run, NULL, struct msg_pi_freed, struct msg_pi_over);
    REMOTE_SERVE(PI_MARK, run, NULL, struct msg_none, struct msg_pi_marked);
    REMOTE_SERVE(PI_RELEASE, run, NULL, struct msg_pi_requeue, struct msg_pi_state);
    REMOTE_SERVE(PI_REQUEUE, run, NULL, struct msg_pi_requeue, struct msg_pi_state);
}
