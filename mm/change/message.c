/* Changes that other kernels request: handlers check a request, defer it while answers to faults or recalls of leases
 * are under way, apply it and answer it. See mm/retrieve/retrieval.md and mm/lease/lease.md. */
#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "kernel/wait/work.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/frame/heap.h"
#include "mm/lease/lease.h"
#include "mm/space/question.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"

static bool range_valid(uint64_t start, uint64_t length)
{
    return (start & (PAGE_SIZE - 1)) == 0 && (length & (PAGE_SIZE - 1)) == 0 && length > 0 && start <= USER_END &&
           length <= USER_END - start;
}

/* True when the new place is at least as large as the old one and does not overlap it. */
static bool move_valid(const struct msg_space_change *change)
{
    return range_valid(change->move.to, change->move.room) && change->move.room >= change->length &&
           (change->start + change->length <= change->move.to || change->move.to + change->move.room <= change->start);
}

/* True when the message of a peer may be applied: this is its only check. */
static bool change_valid(const struct space *space, const struct msg *m)
{
    const struct msg_space_change *change = m->data;
    uint32_t flags = space_operation(m->ticket.type)->flags;

    return change->operation == m->ticket.type &&
           ((flags & NO_RANGE) != 0 || range_valid(change->start, change->length)) &&
           ((flags & TWO_PLACES) == 0 || move_valid(change)) &&
           ((flags & AT_HOME) == 0 || space->home == instance.kernel) &&
           ((flags & FROM_HOME) == 0 || space->home == m->ticket.kernel);
}

/* A change that has to wait for answers to faults, or for recalls of leases, or that is long. */
struct deferred_change {
    struct work work;
    struct space_deferred deferred;
    struct msg_kept kept;
    bool settles;        /* a SPACE_SETTLE */
    struct space *space; /* exists until the answer: SPACE->late counts this */
    struct msg_space_change change;
};

static struct deferred_change *late_create(struct space *space, const struct msg_space_change *change)
{
    struct deferred_change *late = heap_alloc(sizeof(*late));

    if (late == NULL)
        return NULL;
    late->space = space;
    late->change = *change;
    __atomic_fetch_add(&space->late, 1, __ATOMIC_RELAXED); /* the caller has a reference to it */
    return late;
}

/* For a change that is not deferred after all. */
static void late_free(struct deferred_change *late)
{
    __atomic_fetch_sub(&late->space->late, 1, __ATOMIC_RELEASE);
    heap_free(late, sizeof(*late));
}

static void deferred_free(struct msg_kept *kept)
{
    struct deferred_change *late = container_of(kept, struct deferred_change, kept);

    heap_free(late, sizeof(*late));
}

static void end_deferred(struct deferred_change *late, int64_t value)
{
    struct msg_space_changed changed = {(uint64_t)value};

    __atomic_fetch_sub(&late->space->late, 1, __ATOMIC_RELEASE); /* the space may end from now on */
    if (value < 0)
        msg_kept_reply_error(&late->kept, (int)value, deferred_free);
    else
        msg_kept_reply(&late->kept, &changed, late->settles ? 0 : sizeof(changed), deferred_free);
}

/* Applies CHANGE, or settles its range. */
static int64_t apply(struct space *space, const struct msg_space_change *change, bool settles)
{
    if (!settles)
        return space_apply(space, change);
    return space_settle(space, change->start, change->start + change->length);
}

/* On a worker. */
static void run_long(struct work *work)
{
    struct deferred_change *late = container_of(work, struct deferred_change, work);

    end_deferred(late, apply(late->space, &late->change, late->settles));
}

/* True if CHANGE is to be left to a worker, which can make it in slices. */
static bool is_long(struct space *space, const struct msg_space_change *change)
{
    bool result;

    if (change->length / PAGE_SIZE < AREAS_AT_ONCE)
        return false;
    spin_lock(&space->lock);
    result = space_is_long_locked(space, change->start, change->start + change->length);
    spin_unlock(&space->lock);
    return result;
}

/* Makes and answers the change, which nothing holds up any longer. */
static void finish(struct deferred_change *late)
{
    late->work.run = run_long;
    if (is_long(late->space, &late->change))
        work_submit(&late->work);
    else
        run_long(&late->work);
}

static void run_deferred(struct space_deferred *deferred)
{
    finish(container_of(deferred, struct deferred_change, deferred));
}

static void run_recalled(void *context, int error);

/* Starts the next recall that LATE's change needs; what a recall brings may make another one necessary. M: the request,
 * which is kept on the first call; else NULL. 1: run_recalled is called when the recall is over; 0: nothing is left to
 * recall, and unless M is there, the change has been applied in the same critical section, with the result *VALUE;
 * -ENOMEM. */
static int recall_for(struct deferred_change *late, const struct msg *m, int64_t *value)
{
    const struct operation *operation = space_operation(late->change.operation);
    struct lease_recall *start = NULL;
    struct space_range range;
    int result = 0;

    spin_lock(&late->space->lock);
    if (operation->recalls(late->space, &late->change, &range))
        result = lease_wait_locked(late->space, range, run_recalled, late, &start);
    if (result > 0 && m != NULL)
        msg_keep(m, &late->kept, NULL);
    if (result == 0 && m == NULL)
        *value = space_apply_locked(late->space, &late->change);
    spin_unlock(&late->space->lock);
    lease_recall(start);
    return result;
}

static void run_recalled(void *context, int error)
{
    struct deferred_change *late = context;
    int64_t value = 0;

    if (error == 0)
        error = recall_for(late, NULL, &value);
    if (error <= 0)
        end_deferred(late, error < 0 ? error : value);
}

/* As defer_change, until the leases that the change needs to know about have been recalled. Handlers only: a 0 holds
 * until the handler returns, because only a handler leases memory that is mapped here. */
static int defer_recall(struct space *space, const struct msg *m)
{
    struct deferred_change *late;
    int result;

    if (space->home != instance.kernel || lease_map_empty(&space->leases.map))
        return 0;
    late = late_create(space, m->data);
    if (late == NULL)
        return -ENOMEM;
    result = recall_for(late, m, NULL);
    if (result <= 0)
        late_free(late);
    return result;
}

/* As defer_change, for a worker if the change is long. */
static int defer_long(struct space *space, const struct msg *m, bool settles)
{
    struct deferred_change *late;

    if (!is_long(space, m->data))
        return 0;
    late = late_create(space, m->data);
    if (late == NULL)
        return -ENOMEM;
    late->settles = settles;
    late->work.run = run_long;
    msg_keep(m, &late->kept, NULL);
    work_submit(&late->work);
    return 1;
}

/* 0: the change may be applied now. 1: it is applied and answered when this kernel has the answers to its faults under
 * way in the range. -ENOMEM. */
static int defer_change(struct space *space, const struct msg *m)
{
    const struct msg_space_change *change = m->data;
    struct deferred_change *late;
    bool deferred;

    if (list_empty(&space->gets)) /* without space->lock: a question that begins now finds the range locked */
        return 0;
    late = late_create(space, change);
    if (late == NULL)
        return -ENOMEM;
    late->deferred = (struct space_deferred){
        .start = change->start, .end = change->start + change->length, .run = run_deferred};
    spin_lock(&space->lock);
    deferred = space_defer_locked(space, &late->deferred);
    if (deferred)
        msg_keep(m, &late->kept, NULL);
    spin_unlock(&space->lock);
    if (!deferred)
        late_free(late);
    return deferred ? 1 : 0;
}

/* As defer_change, for whatever the operation has to wait for. */
static int defer(struct space *space, const struct msg *m)
{
    const struct operation *operation = space_operation(m->ticket.type);
    int result = 0;

    if (operation->recalls != NULL)
        result = defer_recall(space, m);
    else if ((operation->flags & PUT_OFF) != 0)
        result = defer_change(space, m);
    return result == 0 && (operation->flags & WALKS) != 0 ? defer_long(space, m, false) : result;
}

static void handle_change(const struct msg *m)
{
    const struct msg_space_change *change = m->data;
    struct space *space = space_get(change->space);
    struct msg_space_changed changed;
    int64_t value = 0; /* for a member that no thread has reached yet: it has no space, no areas and no entries */

    if (space != NULL) {
        value = change_valid(space, m) ? defer(space, m) : -EPROTO;
        if (value == 0)
            value = space_apply(space, change);
        else if (value > 0) {
            space_put(space);
            return;
        }
        space_put(space);
    } else if ((space_operation(m->ticket.type)->flags & (AT_HOME | OF_LEASE)) != 0) {
        value = -ESRCH;
    }
    if (value < 0) {
        msg_reply_error(&m->ticket, (int)value);
        return;
    }
    changed.value = (uint64_t)value;
    msg_reply(&m->ticket, &changed, sizeof(changed));
}

static void handle_settle(const struct msg *m)
{
    const struct msg_space_change *change = m->data;
    struct space *space = space_get(change->space);
    int error = 0;

    if (space != NULL) {
        error = range_valid(change->start, change->length) ? defer_long(space, m, true) : -EPROTO;
        if (error == 0)
            error = space_settle(space, change->start, change->start + change->length);
        space_put(space);
    }
    if (error > 0)
        return;
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

void space_change_init(void)
{
    for (uint32_t type = SPACE_OPERATIONS; type < SPACE_OPERATIONS_END; type++) {
        if (space_operation(type)->apply != NULL)
            msg_register(type, handle_change, sizeof(struct msg_space_change), sizeof(struct msg_space_changed));
    }
    space_resident_init();
    msg_register(MSG_SPACE_SETTLE, handle_settle, sizeof(struct msg_space_change), 0);
}
