/* Locking strategy `home`: the group's home kernel keeps one queue of lock requests per space, in order of arrival. A
 * request is granted when no earlier one in the queue overlaps it. So separate ranges are independent of each other,
 * one for the whole space waits for all before it and holds back all behind it, and nobody starves. mm/lock/home.md has
 * the state table. */
#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "kernel/wait/completion.h"
#include "mm/frame/heap.h"
#include "mm/lease/lease.h"
#include "mm/lock/internal.h"
#include "mm/lock/wire.h"
#include "mm/space/space.h"
#include "msg/call.h"
#include "msg/channel.h"

struct lock_request {
    struct list node; /* in space->locks */
    struct space_range range;
    uint32_t kernel; /* who asks */
    bool granted;
    bool waited;    /* for another request */
    bool recalling; /* what others have leased of the range */
    struct space *space;
    struct msg_kept kept; /* to answer, when another kernel asks and has to wait */
    struct local *local;  /* to signal, when a task here asks */
};

struct local {
    struct completion done;
    int error;
};

static uint64_t requests; /* [a] there are */

static void request_free(struct lock_request *request)
{
    __atomic_fetch_sub(&requests, 1, __ATOMIC_RELAXED);
    heap_free(request, sizeof(*request));
}

static uint64_t home_count(void)
{
    return __atomic_load_n(&requests, __ATOMIC_RELAXED);
}

static bool excludes(const struct lock_request *a, const struct lock_request *b)
{
    return range_overlaps(a->range, b->range);
}

static bool grant_if_first_locked(const struct space *space, struct lock_request *request)
{
    if (request->recalling)
        return false;
    for (struct list *node = request->node.previous; node != &space->locks; node = node->previous) {
        if (excludes(container_of(node, struct lock_request, node), request)) {
            request->waited = true;
            return false;
        }
    }
    request->granted = true;
    return true;
}

/* A request that had to wait has its turn. */
static void tell_granted_locked(struct space *space, struct lock_request *request)
{
    struct msg_space_granted granted = {.members = space->members, .waited = request->waited ? 1 : 0};

    if (request->local != NULL)
        completion_signal(&request->local->done);
    else
        msg_kept_reply(&request->kept, &granted, sizeof(granted), NULL); /* its memory stays until it is released */
}

/* REQUEST has left the queue: those behind it may have their turn. */
static void grant_waiting_locked(struct space *space)
{
    list_for_each(node, &space->locks) {
        struct lock_request *request = container_of(node, struct lock_request, node);

        if (!request->granted && grant_if_first_locked(space, request))
            tell_granted_locked(space, request);
    }
}

static void refused(struct msg_kept *kept)
{
    request_free(container_of(kept, struct lock_request, kept));
}

/* No other kernel has a lease of the range any more; or one could not be recalled. */
static void recalled(void *context, int error)
{
    struct lock_request *request = context;
    struct space *space = request->space;

    spin_lock(&space->lock);
    request->recalling = false;
    if (error != 0) {
        list_remove(&request->node);
        grant_waiting_locked(space);
    } else if (grant_if_first_locked(space, request)) {
        tell_granted_locked(space, request);
    }
    spin_unlock(&space->lock);
    if (error == 0)
        return;
    if (request->local == NULL) {
        msg_kept_reply_error(&request->kept, error, refused);
        return;
    }
    request->local->error = error;
    completion_signal(&request->local->done);
    request_free(request);
}

/* For a task here (LOCAL) or another kernel's (M, in its handler). */
static int request_add(struct space *space, struct space_range range, const struct msg *m, struct local *local)
{
    struct lock_request *request = heap_alloc(sizeof(*request));
    struct lease_wait *start;
    int recalls;

    if (request == NULL)
        return -ENOMEM;
    __atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
    request->range = range;
    request->local = local;
    request->space = space;
    request->kernel = m != NULL ? m->ticket.kernel : instance.kernel;
    spin_lock(&space->lock);
    recalls = lease_wait_locked(space, range, recalled, request, &start);
    if (recalls < 0) {
        spin_unlock(&space->lock);
        request_free(request);
        return recalls;
    }
    request->recalling = recalls > 0;
    list_append(&space->locks, &request->node);
    if (!grant_if_first_locked(space, request)) {
        if (m != NULL)
            msg_keep(m, &request->kept, NULL);
        else if (request->waited)
            space_count_wait_locked(space, range);
    } else if (m != NULL) {
        struct msg_space_granted granted = {.members = space->members};

        msg_reply(&m->ticket, &granted, sizeof(granted));
    } else {
        completion_signal(&local->done);
    }
    spin_unlock(&space->lock);
    lease_recall(start);
    return 0;
}

/* Several tasks of one kernel may wait for the same range; only one of them holds it, so range and kernel name it. */
static bool request_remove(struct space *space, struct space_range range, uint32_t kernel)
{
    struct lock_request *found = NULL;

    spin_lock(&space->lock);
    list_for_each(node, &space->locks) {
        struct lock_request *request = container_of(node, struct lock_request, node);

        if (request->granted && request->range.start == range.start && request->range.end == range.end &&
            request->kernel == kernel) {
            found = request;
            break;
        }
    }
    if (found != NULL) {
        list_remove(&found->node);
        grant_waiting_locked(space);
    }
    spin_unlock(&space->lock);
    if (found != NULL)
        request_free(found);
    return found != NULL;
}

static int home_acquire(struct space *space, struct space_range range)
{
    struct msg_space_lock ask = {space->id, range.start, range.end};
    struct msg_space_granted granted;
    int result;

    if (space->home == instance.kernel) {
        struct local local = {.error = 0};
        struct wait_reason reason = {.what = "address space lock", .kernel = -1, .key = range.start};

        completion_init(&local.done);
        result = request_add(space, range, NULL, &local);
        if (result == 0)
            completion_wait(&local.done, &reason);
        return result != 0 ? result : local.error;
    }
    result = msg_call(space->home, MSG_SPACE_LOCK, &ask, sizeof(ask), &granted, sizeof(granted), "address space lock",
                      range.start);
    if (result != (int)sizeof(granted))
        return result < 0 ? result : -EPROTO;
    spin_lock(&space->lock);
    space->members |= granted.members; /* they only grow, and another task's later grant may have been noted before */
    if (granted.waited != 0)
        space_count_wait_locked(space, range);
    spin_unlock(&space->lock);
    return 0;
}

static void home_release(struct space *space, struct space_range range)
{
    struct msg_space_lock free = {space->id, range.start, range.end};

    if (space->home == instance.kernel)
        assert(request_remove(space, range, instance.kernel));
    else
        msg_notify(space->home, MSG_SPACE_UNLOCK, &free, sizeof(free));
}

static uint64_t home_busy_locked(const struct space *space, uint64_t start, uint64_t end)
{
    uint64_t lowest = end;

    list_for_each(node, &space->locks) {
        const struct lock_request *request = container_of(node, const struct lock_request, node);

        if (request->range.end != SPACE_HEAVY.end && request->range.start < lowest && request->range.end > start)
            lowest = request->range.start;
    }
    return lowest;
}

static bool home_taken_locked(const struct space *space, uint64_t start, uint64_t end)
{
    list_for_each(node, &space->locks) {
        const struct lock_request *request = container_of(node, const struct lock_request, node);

        if (request->range.start < end && request->range.end > start)
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

static void handle_lock(const struct msg *m)
{
    const struct msg_space_lock *ask = m->data;
    struct space *space = space_get(ask->space);
    int error = -ESRCH;

    if (space != NULL) {
        error = space->home == instance.kernel ? request_add(space, (struct space_range){ask->start, ask->end}, m, NULL)
                                               : -EPROTO;
        space_put(space);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
}

static void handle_unlock(const struct msg *m)
{
    const struct msg_space_lock *ask = m->data;
    struct space *space = space_get(ask->space);

    if (space == NULL)
        return;
    request_remove(space, (struct space_range){ask->start, ask->end}, m->ticket.kernel);
    space_put(space);
}

void space_lock_home_init(void)
{
    msg_register(MSG_SPACE_LOCK, handle_lock, sizeof(struct msg_space_lock), sizeof(struct msg_space_granted));
    msg_register(MSG_SPACE_UNLOCK, handle_unlock, sizeof(struct msg_space_lock), 0);
}

const struct space_locking space_lock_home = {.name = "home",
                                              .recalls = true,
                                              .acquire = home_acquire,
                                              .release = home_release,
                                              .busy_locked = home_busy_locked,
                                              .taken_locked = home_taken_locked,
                                              .begin = home_begin,
                                              .end = home_end,
                                              .count = home_count};
