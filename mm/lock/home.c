/* Locking strategy `home`: the group's home keeps one queue of lock requests per space, in order of arrival. A request
 * is granted when no earlier one in the queue overlaps it. So disjoint ranges are independent of each other; a request
 * for the whole space waits for all requests before it and holds back all behind it; and no request starves.
 * mm/lock/home.md has the state table. */
#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "kernel/wait/completion.h"
#include "mm/frame/heap.h"
#include "mm/lease/lease.h"
#include "mm/lock/internal.h"
#include "mm/lock/lock.h"
#include "mm/lock/wire.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/request/call.h"

/* A request of another kernel. */
struct kept_request {
    struct space_lock lock;
    struct msg_kept kept; /* for the answer, if the request has to wait */
};

static uint64_t requests; /* [a] number of requests in the queues of all spaces */

static struct kept_request *kept_of(struct space_lock *lock)
{
    return container_of(lock, struct kept_request, lock);
}

static struct space_lock *lock_at(struct list *node)
{
    return container_of(node, struct space_lock, home.node);
}

static uint64_t home_count(void)
{
    return __atomic_load_n(&requests, __ATOMIC_RELAXED);
}

/* Whom a grant names, by the boot option sharers=. */
static volatile enum { SHARERS_KNOWN, SHARERS_ALL, SHARERS_RANDOM } named; /* [a] */

static void named_set(const char *value)
{
    named = option_index("sharers", value);
}

/* A set of kernels that differs from grant to grant. */
static kernel_set random_kernels(void)
{
    static uint64_t drawn; /* [a] */
    uint64_t x = __atomic_add_fetch(&drawn, 0x9e3779b97f4a7c15ull, __ATOMIC_RELAXED);

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 27;
}

/* Read at the moment of a grant: a kernel that gets something in RANGE later needs the lock for it, or has its question
 * answered BUSY. */
kernel_set space_sharers_locked(const struct space *space, struct space_range range)
{
    kernel_set known;

    if (!space->retrieval->home_knows || !space_locking->recalls || named == SHARERS_ALL)
        return space->members;
    known = sharers_in(&space->sharers, range.start, range.end);
    return space->members & (named == SHARERS_KNOWN ? known : known | random_kernels());
}

/* The set of a grant of LOCK: those who have leases that it leaves as they are are in it. */
static kernel_set named_by_locked(const struct space *space, const struct space_lock *lock)
{
    return space_sharers_locked(space, lock->range) | (lock->keeps ? lease_holders_locked(space) : 0);
}

static bool grant_if_first_locked(const struct space *space, struct space_lock *lock)
{
    if (lock->home.recalling)
        return false;
    for (struct list *node = lock->home.node.previous; node != &space->locks; node = node->previous) {
        if (range_overlaps(lock_at(node)->range, lock->range)) {
            lock->home.waited = true;
            return false;
        }
    }
    lock->home.granted = true;
    return true;
}

/* LOCK, which had to wait, has been granted: signals or answers its requester. */
static void notify_granted_locked(struct space *space, struct space_lock *lock, uint32_t *notice)
{
    struct msg_space_granted granted = {
        .members = space->members, .sharers = named_by_locked(space, lock), .waited = lock->home.waited ? 1 : 0};

    lock->sharers = granted.sharers;
    if (lock->home.kernel == instance.kernel)
        completion_signal_locked(&lock->done, notice);
    else /* LOCK's memory is freed only after its release, so it outlives this answer */
        msg_kept_reply(&kept_of(lock)->kept, &granted, sizeof(granted), NULL);
}

/* A request has left the queue: grants those behind it that nothing excludes any more. */
static void grant_waiting_locked(struct space *space, uint32_t *notice)
{
    list_for_each(node, &space->locks) {
        struct space_lock *lock = lock_at(node);

        if (!lock->home.granted && grant_if_first_locked(space, lock))
            notify_granted_locked(space, lock, notice);
    }
}

/* True when other kernels may know something of [START, END), the rest of a part of the directory: no more than the
 * home, which has an area there then. A kernel that has yet to unmap what the home has unmapped is in the set of the
 * task that asks it. */
static bool rest_used_locked(const struct space *space, uint64_t start, uint64_t end)
{
    return start < end && area_overlaps(&space->areas, start, end);
}

/* LOCK, which is not in the queue any more, is released: notes in the directory what its holder says. What a kernel may
 * have kept although the home has nothing there would not be found again by parts, so it is marked everywhere. The
 * holder is marked, too: it may have got something since the grant. */
static void note_release_locked(struct space *space, const struct space_lock *lock)
{
    struct space_range range = lock->range;
    uint64_t start = range.start & ~(SHARERS_PART - 1), end = (range.end + SHARERS_PART - 1) & ~(SHARERS_PART - 1);

    if (lock->outcome == LOCK_FAILED) {
        sharers_mark_all(&space->sharers, (lock->sharers | 1ull << lock->home.kernel) & ~(1ull << instance.kernel));
        return;
    }
    if (lock->outcome != LOCK_GONE)
        return;
    if (rest_used_locked(space, start, range.start))
        start += SHARERS_PART;
    if (rest_used_locked(space, range.end, end))
        end -= SHARERS_PART;
    sharers_clear(&space->sharers, start, end);
}

static inline void remove_locked(struct space *space, struct space_lock *lock, uint32_t *notice)
{
    __atomic_fetch_sub(&requests, 1, __ATOMIC_RELAXED);
    list_remove(&lock->home.node);
    if (lock->outcome != LOCK_OVER)
        note_release_locked(space, lock);
    if (lock->keeps)
        lease_let_go_locked(space); /* the caller then calls lease_resume */
    if (!list_empty(&space->locks))
        grant_waiting_locked(space, notice);
    else if (lock->range.end == SPACE_HEAVY.end && space_ranges && space->members != 1ull << instance.kernel)
        lease_to_home_locked(space);
}

static void refused(struct msg_kept *kept)
{
    struct kept_request *request = container_of(kept, struct kept_request, kept);

    heap_free(request, sizeof(*request));
}

/* The recall for LOCK is over: no other kernel has a lease of the range any more, or a lease could not be recalled. */
static void recalled(void *context, int error)
{
    struct space_lock *lock = context;
    struct space *space = lock->home.space;
    uint32_t notice = 0;

    spin_lock(&space->lock);
    lock->home.recalling = false;
    if (error != 0)
        remove_locked(space, lock, &notice);
    else if (grant_if_first_locked(space, lock))
        notify_granted_locked(space, lock, &notice);
    spin_unlock(&space->lock);
    completion_notify(notice);
    if (error == 0)
        return;
    if (lock->home.kernel != instance.kernel) {
        msg_kept_reply_error(&kept_of(lock)->kept, error, refused);
        return;
    }
    lock->error = error;
    completion_signal(&lock->done);
}

/* Queues the request LOCK of KERNEL. True: it is granted. False with LOCK->error 0: it has to wait, and
 * LOCK->home.start has the recalls that the caller must begin, if not NULL. False with LOCK->error set: it is refused
 * and not queued. */
static inline __attribute__((always_inline)) bool begin_locked(struct space *space, struct space_lock *lock,
                                                               uint32_t kernel)
{
    int recalls = 0;

    lock->home.start = NULL;
    /* Only a request that is granted at once: the holder of another lock may need a recall before it releases that. */
    lock->keeps = lock->keeps && list_empty(&space->locks) && lease_hold_locked(space);
    if (!lock->keeps)
        recalls = lease_wait_locked(space, lock->range, recalled, lock, &lock->home.start);
    lock->error = recalls < 0 ? recalls : 0;
    if (recalls < 0)
        return false;
    lock->home.space = space;
    lock->home.kernel = kernel;
    lock->home.granted = lock->home.waited = false;
    lock->home.recalling = recalls > 0;
    list_append(&space->locks, &lock->home.node);
    __atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
    return grant_if_first_locked(space, lock);
}

static bool home_begin_locked(struct space *space, struct space_lock *lock)
{
    if (space->home != instance.kernel)
        return false;
    if (begin_locked(space, lock, instance.kernel)) {
        lock->sharers = named_by_locked(space, lock);
        return true;
    }
    completion_init(&lock->done);
    if (lock->error != 0)
        completion_signal(&lock->done); /* the request is not queued, so nothing else signals it */
    else if (lock->home.waited)
        space_count_wait_locked(space, lock->range);
    return false;
}

/* Sends a request to the home, which is another kernel, and waits for the grant. */
static int wait_far(struct space *space, struct space_lock *lock)
{
    struct msg_space_lock ask = {space->id, lock->range.start | (lock->keeps ? SPACE_LOCK_KEEPS : 0), lock->range.end};
    struct msg_space_granted granted;
    int result = msg_call(space->home, MSG_SPACE_LOCK, &ask, sizeof(ask), &granted, sizeof(granted),
                          "address space lock", ask.start);

    if (result != (int)sizeof(granted))
        return result < 0 ? result : -EPROTO;
    lock->sharers = granted.sharers;
    spin_lock(&space->lock);
    space->members |= granted.members; /* members only grow, and a later grant may be noted first */
    if (granted.waited != 0)
        space_count_wait_locked(space, lock->range);
    spin_unlock(&space->lock);
    return 0;
}

static int home_wait(struct space *space, struct space_lock *lock)
{
    struct wait_reason reason = {.what = "address space lock", .kernel = -1, .key = lock->range.start};

    if (space->home != instance.kernel)
        return wait_far(space, lock);
    lease_recall(lock->home.start);
    completion_wait(&lock->done, &reason);
    return lock->error;
}

static void home_end_locked(struct space *space, struct space_lock *lock, uint32_t *notice)
{
    if (space->home == instance.kernel)
        remove_locked(space, lock, notice);
}

/* The release of LOCK, which the home, another kernel, has granted. */
static __attribute__((noinline)) void tell_home(const struct space *space, const struct space_lock *lock)
{
    struct msg_space_lock free = {space->id, lock->range.start | lock->outcome, lock->range.end};

    msg_notify(space->home, MSG_SPACE_UNLOCK, &free, sizeof(free));
}

static void home_notify(struct space *space, const struct space_lock *lock)
{
    if (space->home != instance.kernel)
        tell_home(space, lock);
    else if (lock->keeps)
        lease_resume(space);
}

static uint64_t home_busy_locked(const struct space *space, uint64_t start, uint64_t end)
{
    uint64_t lowest = end;

    list_for_each(node, &space->locks) {
        struct space_range range = lock_at(node)->range;

        if (range.end != SPACE_HEAVY.end && range.start < lowest && range.end > start)
            lowest = range.start;
    }
    return lowest;
}

static bool home_taken_locked(const struct space *space, uint64_t start, uint64_t end)
{
    list_for_each(node, &space->locks) {
        if (lock_at(node)->range.start < end && lock_at(node)->range.end > start)
            return true;
    }
    return false;
}

static void home_begin(struct space *space)
{
    list_init(&space->locks);
}

static void home_end(struct space *space)
{
    assert(list_empty(&space->locks));
}

/* Queues a request of another kernel, in the handler of SPACE_LOCK. */
static int keep_request(struct space *space, const struct msg *m)
{
    const struct msg_space_lock *ask = m->data;
    struct kept_request *request = heap_alloc_unset(sizeof(*request));
    struct lease_recall *start;
    int error;

    if (request == NULL)
        return -ENOMEM;
    request->lock.range = (struct space_range){ask->start & ~SPACE_LOCK_KEEPS, ask->end};
    request->lock.keeps = (ask->start & SPACE_LOCK_KEEPS) != 0;
    request->lock.outcome = LOCK_OVER;
    spin_lock(&space->lock);
    if (begin_locked(space, &request->lock, m->ticket.kernel)) {
        struct msg_space_granted granted = {.members = space->members,
                                            .sharers = named_by_locked(space, &request->lock)};

        request->lock.sharers = granted.sharers;
        msg_reply(&m->ticket, &granted, sizeof(granted));
    } else if (request->lock.error == 0) {
        msg_keep(m, &request->kept, NULL);
    }
    error = request->lock.error;
    start = request->lock.home.start;
    spin_unlock(&space->lock);
    if (error != 0)
        heap_free(request, sizeof(*request));
    else
        lease_recall(start);
    return error;
}

static void handle_lock(const struct msg *m)
{
    const struct msg_space_lock *ask = m->data;
    struct space *space = space_get(ask->space);
    int error = -ESRCH;

    if (space != NULL) {
        error = space_locking == &space_lock_home && space->home == instance.kernel ? keep_request(space, m) : -EPROTO;
        space_put(space);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
}

/* Returns the granted request of KERNEL for exactly this range. Several tasks of one kernel may wait for the same
 * range, but only one of them holds it, so range and kernel identify it. */
static struct space_lock *find_granted_locked(const struct space *space, const struct msg_space_lock *ask,
                                              uint32_t kernel)
{
    list_for_each(node, &space->locks) {
        struct space_lock *lock = lock_at(node);

        if (lock->home.kernel == kernel && lock->home.granted && lock->range.start == ask->start &&
            lock->range.end == ask->end)
            return lock;
    }
    return NULL;
}

static void handle_unlock(const struct msg *m)
{
    const struct msg_space_lock *message = m->data;
    struct msg_space_lock free = {message->space, message->start & ~(PAGE_SIZE - 1), message->end};
    struct space *space = space_get(free.space);
    struct space_lock *lock = NULL;
    uint32_t notice = 0;

    if (space == NULL)
        return;
    spin_lock(&space->lock);
    if (space_locking == &space_lock_home && space->home == instance.kernel)
        lock = find_granted_locked(space, &free, m->ticket.kernel);
    if (lock != NULL) {
        lock->outcome = message->start & (LOCK_GONE | LOCK_FAILED);
        remove_locked(space, lock, &notice);
    }
    spin_unlock(&space->lock);
    completion_notify(notice);
    if (lock != NULL && lock->keeps)
        lease_resume(space);
    if (lock != NULL)
        heap_free(kept_of(lock), sizeof(struct kept_request));
    space_put(space);
}

/* A request of KERNEL in the queue whose leases are not being recalled; NULL: there is none. */
static struct space_lock *find_of_locked(const struct space *space, uint32_t kernel)
{
    list_for_each(node, &space->locks) {
        struct space_lock *lock = lock_at(node);

        if (lock->home.kernel == kernel && !lock->home.recalling)
            return lock;
    }
    return NULL;
}

static void home_forget(struct space *space, uint32_t kernel)
{
    struct space_lock *lock;

    if (space->home != instance.kernel)
        return;
    do {
        uint32_t notice = 0;

        spin_lock(&space->lock);
        lock = find_of_locked(space, kernel);
        if (lock != NULL) {
            lock->outcome = LOCK_OVER;
            remove_locked(space, lock, &notice);
        }
        spin_unlock(&space->lock);
        completion_notify(notice);
        if (lock == NULL)
            break;
        if (lock->keeps)
            lease_resume(space);
        if (lock->home.granted)
            heap_free(kept_of(lock), sizeof(struct kept_request));
        else
            msg_kept_reply_error(&kept_of(lock)->kept, -EHOSTDOWN, refused);
    } while (lock != NULL);
}

void space_lock_home_init(void)
{
    static struct option option = {.name = "sharers", .set = named_set};

    option_add(&option);
    msg_register(MSG_SPACE_LOCK, handle_lock, sizeof(struct msg_space_lock), sizeof(struct msg_space_granted));
    msg_register(MSG_SPACE_UNLOCK, handle_unlock, sizeof(struct msg_space_lock), 0);
}

const struct space_locking space_lock_home = {.name = "home",
                                              .recalls = true,
                                              .begin_locked = home_begin_locked,
                                              .wait = home_wait,
                                              .end_locked = home_end_locked,
                                              .notify = home_notify,
                                              .busy_locked = home_busy_locked,
                                              .taken_locked = home_taken_locked,
                                              .begin = home_begin,
                                              .end = home_end,
                                              .forget = home_forget,
                                              .count = home_count};
