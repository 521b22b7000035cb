/* Changes that come from other kernels: checked, put off while answers to faults or recalls of leases are under way,
 * applied and answered. See mm/retrieve/retrieval.md and mm/lease/lease.md. */
#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/fault/grow.h"
#include "mm/frame/heap.h"
#include "mm/lease/lease.h"
#include "mm/page/question.h"
#include "mm/space/call_home.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"

static bool range_valid(uint64_t start, uint64_t length)
{
    return (start & (PAGE_SIZE - 1)) == 0 && (length & (PAGE_SIZE - 1)) == 0 && length > 0 && start <= USER_END &&
           length <= USER_END - start;
}

static bool is_move(const struct msg_space_change *change)
{
    return change->operation >= SPACE_PREPARE && change->operation <= SPACE_CANCEL;
}

/* To another place, which may be larger, and does not touch the old one. */
static bool move_valid(const struct msg_space_change *change)
{
    return range_valid(change->target, change->room) && change->room >= change->length &&
           (change->start + change->length <= change->target || change->target + change->room <= change->start);
}

/* A peer's message is checked here once; what passes can be applied. */
static bool change_valid(const struct msg_space_change *change)
{
    if (change->operation == SPACE_BREAK || change->operation == SPACE_LEASE ||
        change->operation == SPACE_POLICY_MAKE || change->operation == SPACE_POLICY_TELL)
        return true;
    return range_valid(change->start, change->length) && (!is_move(change) || move_valid(change));
}

/* What SPACE_LOOK needs to know: an area goes on where another kernel may have leased what is next to it. */
static struct space_range look_range_locked(const struct space *space, const struct msg_space_change *change)
{
    const struct area *area = area_find(&space->areas, change->start);
    struct space_range range = space_change_range(change);

    if (area != NULL) {
        range.start = area->start > PAGE_SIZE ? area->start - PAGE_SIZE : 0;
        range.end = area->end + PAGE_SIZE;
    }
    if (change->target != SPACE_LOOK_THERE) /* perhaps it is for the first one behind */
        range.end = USER_END;
    return range;
}

/* What the home is asked without a lock: no other kernel is to have a lease of a part of *RANGE first. */
static bool reclaims_locked(struct space *space, const struct msg_space_change *change, struct space_range *range)
{
    *range = space_change_range(change);
    switch (change->operation) {
    case SPACE_LOOK:
        if (change->target >= SPACE_LOOK_ATTACHED && change->target <= SPACE_LOOK_ATTACHED_OBJECT)
            return false; /* nothing leased is a file's */
        *range = look_range_locked(space, change);
        return true;
    case SPACE_LATER:
        space->later = change->prot & AREA_LOCKED; /* from now on nobody gets one */
        *range = (struct space_range){0, USER_END};
        return true;
    case SPACE_CHECK:
    case SPACE_RESIDENT:
    case SPACE_RECLAIM:
        return true;
    case SPACE_GROWTH:
        return space_growth_range_locked(space, change->start, range);
    default:
        return false;
    }
}

/* A change that has to wait for answers to faults, or for recalls of leases. */
struct deferred_change {
    struct space_deferred deferred;
    struct msg_kept kept;
    struct space *space; /* stays: who asked is one of its threads */
    struct msg_space_change change;
};

static void deferred_free(struct msg_kept *kept)
{
    struct deferred_change *late = container_of(kept, struct deferred_change, kept);

    heap_free(late, sizeof(*late));
}

static void end_deferred(struct deferred_change *late, int64_t value)
{
    struct msg_space_changed changed = {(uint64_t)value};

    if (value < 0)
        msg_kept_reply_error(&late->kept, (int)value, deferred_free);
    else
        msg_kept_reply(&late->kept, &changed, sizeof(changed), deferred_free);
}

static void run_deferred(struct space_deferred *deferred)
{
    struct deferred_change *late = container_of(deferred, struct deferred_change, deferred);

    end_deferred(late, space_apply(late->space, &late->change));
}

static void run_recalled(void *context, int error);

/* What has to be recalled for LATE's change, one after the other: what is known then may need more. 1: run_recalled is
 * called; 0: nothing any more; -ENOMEM. */
static int recall_for(struct deferred_change *late, const struct msg *m)
{
    struct lease_wait *start = NULL;
    struct space_range range;
    int result = 0;

    spin_lock(&late->space->lock);
    if (reclaims_locked(late->space, &late->change, &range))
        result = lease_wait_locked(late->space, range, run_recalled, late, &start);
    if (result > 0 && m != NULL)
        msg_keep(m, &late->kept, NULL);
    spin_unlock(&late->space->lock);
    lease_recall(start);
    return result;
}

static void run_recalled(void *context, int error)
{
    struct deferred_change *late = context;

    if (error == 0)
        error = recall_for(late, NULL);
    if (error <= 0)
        end_deferred(late, error != 0 ? error : space_apply(late->space, &late->change));
}

/* As defer_change: until what others have leased, and this change needs to know, is recalled. */
static int defer_recall(struct space *space, const struct msg *m)
{
    struct deferred_change *late;
    int result;

    if (space->home != instance.kernel || lease_map_empty(&space->leases.map))
        return 0;
    late = heap_alloc(sizeof(*late));
    if (late == NULL)
        return -ENOMEM;
    late->space = space;
    late->change = *(const struct msg_space_change *)m->data;
    result = recall_for(late, m);
    if (result <= 0)
        heap_free(late, sizeof(*late));
    return result;
}

static bool needs_no_lock(uint32_t operation)
{
    return operation == SPACE_LOOK || operation == SPACE_LATER || operation == SPACE_CHECK ||
           operation == SPACE_RESIDENT || operation == SPACE_RECLAIM || operation == SPACE_GROWTH ||
           operation == SPACE_POLICY_MAKE || operation == SPACE_POLICY_TELL;
}

/* reclaims_locked, for lease_await_found. */
static bool find_reclaimed(struct space *space, const void *change, struct space_range *range)
{
    return reclaims_locked(space, change, range);
}

int space_recall_for(struct space *space, const struct msg_space_change *change)
{
    return needs_no_lock(change->operation) ? lease_await_found(space, find_reclaimed, change) : 0;
}

/* 0: the change may be applied; 1: it will be, and answered, when faults under way have their answers. -ENOMEM. */
static int defer_change(struct space *space, const struct msg *m)
{
    const struct msg_space_change *change = m->data;
    struct deferred_change *late;
    bool deferred;

    /* one that comes now finds the range locked, and so does one that comes after SPACE_PREPARE; what an answer brings
     * does not depend on the strategy */
    if (list_empty(&space->gets) || change->operation == SPACE_MOVE || change->operation == SPACE_CANCEL ||
        change->operation == SPACE_STRATEGY)
        return 0;
    late = heap_alloc(sizeof(*late));
    if (late == NULL)
        return -ENOMEM;
    late->deferred = (struct space_deferred){
        .start = change->start, .end = change->start + change->length, .run = run_deferred};
    late->space = space;
    late->change = *change;
    spin_lock(&space->lock);
    deferred = space_defer_locked(space, &late->deferred);
    if (deferred)
        msg_keep(m, &late->kept, NULL);
    spin_unlock(&space->lock);
    if (!deferred)
        heap_free(late, sizeof(*late));
    return deferred ? 1 : 0;
}

static int64_t grant(struct space *space, uint32_t kernel, uint64_t length)
{
    uint64_t start;

    if (space->home != instance.kernel)
        return -EPROTO;
    spin_lock(&space->lock);
    start = lease_grant_locked(space, kernel, length);
    spin_unlock(&space->lock);
    return (int64_t)start;
}

/* A strategy comes from the home alone. */
static bool may_change(const struct space *space, const struct msg_space_change *change, uint32_t from)
{
    return change->operation != SPACE_STRATEGY || from == space->home;
}

static void handle_change(const struct msg *m)
{
    const struct msg_space_change *change = m->data;
    struct space *space = space_get(change->space);
    struct msg_space_changed changed;
    int64_t value = -ESRCH;

    if (space != NULL) {
        value = !change_valid(change) || !may_change(space, change, m->ticket.kernel) ? -EPROTO
                : needs_no_lock(change->operation)                                    ? defer_recall(space, m)
                                                                                      : defer_change(space, m);
        if (value == 0 && change->operation == SPACE_LEASE)
            value = grant(space, m->ticket.kernel, change->length);
        else if (value == 0)
            value = space_apply(space, change);
        else if (value > 0) {
            space_put(space);
            return;
        }
        space_put(space);
    } else if (change->operation == SPACE_UNMAP || change->operation == SPACE_PROTECT ||
               change->operation == SPACE_DISCARD || change->operation == SPACE_GUARD ||
               change->operation == SPACE_FLAG || change->operation == SPACE_RESIDENT ||
               change->operation == SPACE_STRATEGY || change->operation == SPACE_FENCE ||
               change->operation == SPACE_REVOKE || is_move(change)) {
        value = 0; /* this kernel has joined, but nobody has arrived yet: it knows no areas and maps nothing */
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
        error = change_valid(change) && range_valid(change->start, change->length)
                    ? space_settle(space, change->start, change->start + change->length)
                    : -EPROTO;
        space_put(space);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

void space_change_init(void)
{
    msg_register(MSG_SPACE_CHANGE, handle_change, sizeof(struct msg_space_change), sizeof(struct msg_space_changed));
    msg_register(MSG_SPACE_SETTLE, handle_settle, sizeof(struct msg_space_change), 0);
}
