/* Changes of an address space: map, unmap, protect, discard. See mm/retrieval.md.
 *
 * A space that lives here alone changes in one critical section. Otherwise the lock of the range excludes every fault
 * and every other change of it in the machine, the other members apply the change first and answer, then we do (Popcorn
 * thesis 5.7.5, which locks the whole space). An unmap has a second round: a frame is freed by its owner only when no
 * kernel maps it any more. What asks for a change and what a member does with it are both here, for they are one
 * procedure when the space is alone.
 */
#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/layout.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame.h"
#include "mm/get.h"
#include "mm/heap.h"
#include "mm/internal.h"
#include "mm/lease.h"
#include "mm/reference.h"
#include "mm/space.h"
#include "msg/channel.h"

#define MAP_FILL 1ull /* beside the address of a new area: it is to be filled */

static struct space_range range_of(const struct msg_space_change *change)
{
    return (struct space_range){change->start, change->start + change->length};
}

/* What a change does to the entries of a range. */
enum rewrite_kind { REWRITE_PROTECT, REWRITE_UNMAP, REWRITE_GUARD };

struct rewrite {
    enum rewrite_kind kind;
    uint32_t prot;
    bool flush; /* a TLB may have what is gone now */
    bool holds; /* an entry holds a reference */
    uint32_t prefetch_used;
};

static void rewrite_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct rewrite *rewrite = context;
    uint64_t old = *entry;
    uint64_t keep = old & (PAGING_FRAME | PAGING_SOFT_BORROWED | PAGING_SOFT_HELD | PAGING_SOFT_COW);
    uint64_t seen = old & (PAGING_SOFT_PREFETCHED | PAGING_ACCESSED);

    (void)va;
    (void)size;
    if ((old & PAGING_SOFT_LIMBO) != 0)
        return; /* only SETTLE ends that */
    if ((old & PAGING_SOFT_HELD) != 0)
        rewrite->holds = true;
    if (rewrite->kind == REWRITE_PROTECT)
        *entry = keep | seen | space_page_flags(rewrite->prot, (keep & PAGING_SOFT_COW) != 0);
    else if (rewrite->kind == REWRITE_GUARD)
        *entry = (old & ~PAGING_WRITE) | PAGING_SOFT_COW;
    else {
        rewrite->prefetch_used += space_prefetch_used(old);
        *entry = (keep & PAGING_SOFT_HELD) != 0 ? keep | PAGING_SOFT_LIMBO : 0;
    }
    if (rewrite->kind != REWRITE_GUARD || (old & PAGING_WRITE) != 0)
        rewrite->flush = true;
}

static void rewrite_range_locked(struct space *space, uint64_t start, uint64_t end, uint32_t prot,
                                 enum rewrite_kind kind)
{
    struct rewrite rewrite = {.prot = prot, .kind = kind};
    uint64_t *only = end - start == PAGE_SIZE ? paging_entry(&space->tables, start, false) : NULL;

    if (only != NULL && *only != 0) /* what a program changes is often one page */
        rewrite_entry(&rewrite, start, only, PAGE_SIZE);
    else
        paging_visit(&space->tables, start, end, rewrite_entry, &rewrite);
    space->stats.prefetch_used += rewrite.prefetch_used;
    if (rewrite.flush)
        space_flush(space, start, end);
}

/* The private pages of [START, END) only. True when one of all pages is held here. */
static bool rewrite_private_locked(struct space *space, uint64_t start, uint64_t end, enum rewrite_kind kind)
{
    struct rewrite rewrite = {.kind = kind};

    for (const struct area *area = area_next(&space->areas, start); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        if (kind == REWRITE_GUARD && (area->prot & AREA_NOT_COPIED) != 0)
            continue;
        if ((area->prot & AREA_SHARED) != 0)
            rewrite.holds = true; /* perhaps: it is not looked at */
        else
            paging_visit(&space->tables, area->start > start ? area->start : start, area->end < end ? area->end : end,
                         rewrite_entry, &rewrite);
    }
    space->stats.prefetch_used += rewrite.prefetch_used;
    if (rewrite.flush)
        space_flush(space, start, end);
    return rewrite.holds;
}

struct settle {
    struct releasing releasing;
    int error;
};

static void settle_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct settle *settle = context;

    (void)va;
    (void)size;
    if ((*entry & PAGING_SOFT_LIMBO) == 0)
        return;
    if (release_add(&settle->releasing, *entry & PAGING_FRAME) == 0)
        *entry = 0;
    else
        settle->error = -ENOMEM;
}

int space_settle_locked(struct space *space, uint64_t start, uint64_t end)
{
    struct settle settle = {.error = 0};

    paging_visit(&space->tables, start, end, settle_entry, &settle);
    release_send(&settle.releasing);
    return settle.error;
}

int space_settle(struct space *space, uint64_t start, uint64_t end)
{
    int error;

    spin_lock(&space->lock);
    error = space_settle_locked(space, start, end);
    spin_unlock(&space->lock);
    return error;
}

/* What is to be behind a new area. */
static uint64_t backing_of_locked(const struct space *space, const struct msg_space_change *change)
{
    const struct area *before;

    if ((change->target & SPACE_MAP_GOES_ON) == 0)
        return change->room;
    before = change->start > 0 ? area_find(&space->areas, change->start - PAGE_SIZE) : NULL;
    return before != NULL ? area_backing_at(before, change->start) : BACKING_NONE;
}

static bool shares_file(uint32_t prot, uint64_t backing)
{
    return (prot & AREA_SHARED) != 0 && backing != BACKING_NONE;
}

/* This kernel's areas are all that there are in the range of CHANGE. */
static bool knows_all_locked(const struct space *space, const struct msg_space_change *change)
{
    return space->home == instance.kernel || lease_covers_locked(space, change->start, change->start + change->length);
}

/* The range of CHANGE is leased to this kernel, and what is to be there may be: map_leased finds places. */
static bool leased_locked(const struct space *space, const struct msg_space_change *change)
{
    if (change->operation == SPACE_MAP &&
        ((change->target & (SPACE_MAP_FIXED | SPACE_MAP_KEEP)) == 0 || !lease_may_have(change->prot, change->room)))
        return false;
    return lease_covers_locked(space, change->start, change->start + change->length);
}

static int64_t apply_map_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t start = change->start, end, backing = backing_of_locked(space, change);
    int error;

    if (space->home != instance.kernel && !leased_locked(space, change))
        return -EPROTO;
    if (!shares_file(change->prot, backing) && !space_promised(change->prot, change->length))
        return -ENOMEM;
    if ((change->target & (SPACE_MAP_FIXED | SPACE_MAP_KEEP)) == 0)
        start = space_room_locked(space, start, change->length, (uint32_t)change->target);
    if (start == 0) { /* is there room but for what others are about to do? */
        start = space_room_locked(space, 0, change->length, (uint32_t)change->target | SPACE_MAP_BUSY);
        return start != 0 ? -EAGAIN : -ENOMEM;
    }
    end = start + change->length;
    if ((change->target & SPACE_MAP_KEEP) != 0 && area_overlaps(&space->areas, start, end))
        return -EEXIST;
    error = area_set_backed(&space->areas, start, end, change->prot | space->later, backing);
    return error != 0 ? error : (int64_t)(start | (space->later != 0 ? MAP_FILL : 0));
}

static int64_t apply_look_locked(const struct space *space, const struct msg_space_change *change)
{
    const struct area *area = area_next(&space->areas, change->start);

    if (space->home != instance.kernel)
        return -EPROTO;
    if (change->target == SPACE_LOOK_BACKING)
        return area != NULL && area->start <= change->start ? (int64_t)area_backing_at(area, change->start) : 0;
    if (area == NULL || (change->target == SPACE_LOOK_THERE && area->start > change->start))
        return -ENOMEM;
    return (int64_t)((change->target == SPACE_LOOK_START ? area->start : area->end) | area->prot);
}

/* No area of the range becomes writable that is larger than what may be promised. */
static bool protect_promised(const struct space *space, uint64_t start, uint64_t end, uint32_t prot)
{
    if ((prot & AREA_WRITE) == 0)
        return true;
    for (const struct area *area = area_next(&space->areas, start); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        uint64_t from = area->start > start ? area->start : start, to = area->end < end ? area->end : end;

        if ((area->prot & (AREA_WRITE | AREA_SHARED)) == 0 &&
            !space_promised((area->prot & AREA_NORESERVE) | (prot & AREA_WRITE), to - from))
            return false;
    }
    return true;
}

/* Files are read-only: what is shared with one never becomes writable. */
static bool protect_allowed(const struct space *space, uint64_t start, uint64_t end, uint32_t prot)
{
    for (const struct area *area = area_next(&space->areas, start);
         (prot & AREA_WRITE) != 0 && area != NULL && area->start < end; area = area_after(&space->areas, area)) {
        if (shares_file(area->prot, area->backing))
            return false;
    }
    return true;
}

static int64_t apply_protect_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t end = change->start + change->length;
    int error;

    if (knows_all_locked(space, change) && !protect_allowed(space, change->start, end, change->prot))
        return -EACCES;
    if (knows_all_locked(space, change) && !protect_promised(space, change->start, end, change->prot))
        return -ENOMEM;
    if (knows_all_locked(space, change))
        error = area_protect(&space->areas, change->start, end, change->prot);
    else
        error = area_protect_known(&space->areas, change->start, end, change->prot);
    if (error == 0)
        rewrite_range_locked(space, change->start, end, change->prot, REWRITE_PROTECT);
    return error;
}

static int unmap_locked(struct space *space, uint64_t start, uint64_t length)
{
    int error = area_remove(&space->areas, start, start + length);

    if (error == 0)
        rewrite_range_locked(space, start, start + length, 0, REWRITE_UNMAP);
    return error;
}

int64_t space_apply_locked(struct space *space, const struct msg_space_change *change)
{
    switch (change->operation) {
    case SPACE_MAP:
        return apply_map_locked(space, change);
    case SPACE_UNMAP:
        return unmap_locked(space, change->start, change->length);
    case SPACE_DISCARD:
        rewrite_private_locked(space, change->start, change->start + change->length, REWRITE_UNMAP);
        return knows_all_locked(space, change) &&
               !area_covers(&space->areas, change->start, change->start + change->length);
    case SPACE_GUARD:
        return rewrite_private_locked(space, change->start, change->start + change->length, REWRITE_GUARD);
    case SPACE_PROTECT:
        return apply_protect_locked(space, change);
    case SPACE_BREAK:
        return space->home == instance.kernel ? space_apply_break_locked(space, change) : -EPROTO;
    case SPACE_LOOK:
        return apply_look_locked(space, change);
    case SPACE_ROOM: {
        uint64_t place = space_room_locked(space, change->start, change->length, 0);

        if (place == 0) /* who asks locks it, which waits, and looks again */
            place = space_room_locked(space, 0, change->length, SPACE_MAP_BUSY);
        return space->home != instance.kernel ? -EPROTO : place != 0 ? (int64_t)place : -ENOMEM;
    }
    case SPACE_PREPARE:
    case SPACE_MOVE:
    case SPACE_CANCEL:
        return space_apply_move_locked(space, change);
    case SPACE_CHECK:
    case SPACE_FLAG:
    case SPACE_RESIDENT:
    case SPACE_LATER:
        return space_apply_advice_locked(space, change);
    case SPACE_RECLAIM:
        return space->home == instance.kernel ? 0 : -EPROTO; /* nobody has a lease there any more: reclaims() */
    case SPACE_STRATEGY:
        space_mode_note_locked(space, change->target);
        return 0;
    case SPACE_FENCE:
        space_flush(space, change->start, change->start + change->length); /* an interrupt is a fence */
        return 0;
    case SPACE_GROWTH:
    case SPACE_GROW:
        return space_apply_growth_locked(space, change);
    default:
        return -EPROTO;
    }
}

int64_t space_apply(struct space *space, const struct msg_space_change *change)
{
    int64_t result;

    spin_lock(&space->lock);
    result = space_apply_locked(space, change);
    spin_unlock(&space->lock);
    return result;
}

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
    if (change->operation == SPACE_BREAK || change->operation == SPACE_LEASE)
        return true;
    return range_valid(change->start, change->length) && (!is_move(change) || move_valid(change));
}

/* What SPACE_LOOK needs to know: an area goes on where another kernel may have leased what is next to it. */
static struct space_range look_range_locked(const struct space *space, const struct msg_space_change *change)
{
    const struct area *area = area_find(&space->areas, change->start);
    struct space_range range = range_of(change);

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
    *range = range_of(change);
    switch (change->operation) {
    case SPACE_LOOK:
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

    if (space->home != instance.kernel || space->leases.ranges.root == NULL)
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
           operation == SPACE_RESIDENT || operation == SPACE_RECLAIM || operation == SPACE_GROWTH;
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

static void handle_change(const struct msg *m)
{
    const struct msg_space_change *change = m->data;
    struct space *space = space_get(change->space);
    struct msg_space_changed changed;
    int64_t value = -ESRCH;

    if (space != NULL) {
        value = !change_valid(change)              ? -EPROTO
                : needs_no_lock(change->operation) ? defer_recall(space, m)
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
               change->operation == SPACE_STRATEGY || change->operation == SPACE_FENCE || is_move(change)) {
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
        error = change_valid(change) && change->operation != SPACE_BREAK && change->operation != SPACE_LEASE
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

static void note_error(void *context, uint32_t kernel, const void *reply, int length)
{
    int *error = context;

    (void)kernel;
    if (length < 0)
        *error = length;
    else if (*error == 0 && length == (int)sizeof(struct msg_space_changed))
        *error = ((const struct msg_space_changed *)reply)->value != 0;
}

/* As recall_for, for a task here. 0 or -ENOMEM. */
static int recall_here(struct space *space, const struct msg_space_change *change)
{
    struct space_range range;
    bool reclaims;
    int waited;

    do {
        spin_lock(&space->lock);
        reclaims = reclaims_locked(space, change, &range);
        spin_unlock(&space->lock);
        waited = reclaims ? lease_await(space, range) : 0;
    } while (waited > 0);
    return waited;
}

int64_t space_ask_home(struct space *space, const struct msg_space_change *change)
{
    struct msg_space_changed changed;
    int length;

    if (space->home == instance.kernel) {
        int error = needs_no_lock(change->operation) ? recall_here(space, change) : 0;

        return error != 0 ? error : space_apply(space, change);
    }
    length = msg_call(space->home, MSG_SPACE_CHANGE, change, sizeof(*change), &changed, sizeof(changed),
                      "address space change", change->start);
    if (length != (int)sizeof(changed))
        return length < 0 ? length : -EPROTO;
    return (int64_t)changed.value;
}

int space_apply_own(struct space *space, const struct msg_space_change *change)
{
    space_gets_await(space, range_of(change));
    return (int)space_apply(space, change);
}

int space_apply_others(struct space *space, const struct msg_space_change *change, const char *why)
{
    int error = 0;

    msg_multicast(space_others(space) & ~(1ull << space->home), MSG_SPACE_CHANGE, change, sizeof(*change), note_error,
                  &error, why, change->start);
    if (space->home != instance.kernel && error == 0)
        error = space_apply_own(space, change);
    return error;
}

int space_unmap_everywhere(struct space *space, uint64_t start, uint64_t length, uint32_t operation)
{
    struct msg_space_change change = {.space = space->id, .start = start, .length = length, .operation = operation};
    kernel_set others = space_others(space);
    int error = 0; /* a negative errno, or 1: the home says that a part of what is to be discarded is not mapped */
    int own;

    msg_multicast(others, MSG_SPACE_CHANGE, &change, sizeof(change), note_error, &error, "unmap", start);
    if (error >= 0) {
        own = space_apply_own(space, &change);
        error = own != 0 ? own : error;
    }
    if (error < 0)
        return error; /* some kernel had no memory to split an area: nothing was freed, and a second try ends what is
                         left */
    if (error > 0)
        error = -ENOMEM; /* as Linux: the rest is done */
    msg_multicast(others, MSG_SPACE_SETTLE, &change, sizeof(change), note_error, &error, "unmap", start);
    own = space_settle(space, start, start + length);
    return error != 0 ? error : own;
}

void space_count_change(struct space *space)
{
    spin_lock(&space->lock);
    space->stats.changes++;
    spin_unlock(&space->lock);
}

/* Runs CHANGE if the space is on this kernel alone, or the range leased to it. Returns false when others have to be
 * asked. */
static bool change_alone(struct space *space, const struct msg_space_change *change, bool replace, int64_t *result)
{
    bool alone;

    spin_lock(&space->lock);
    space_count_operation_locked(space, change->operation);
    alone = space_alone_locked(space) || leased_locked(space, change);
    if (alone) {
        *result = replace ? unmap_locked(space, change->start, change->length) : 0;
        if (*result == 0)
            *result = space_apply_locked(space, change);
        if (replace || change->operation == SPACE_UNMAP || change->operation == SPACE_DISCARD) {
            int error = space_settle_locked(space, change->start, change->start + change->length);

            if (error != 0)
                *result = error;
            else if (change->operation == SPACE_DISCARD && *result != 0)
                *result = -ENOMEM; /* as Linux: a part is not mapped, the rest is done */
        }
    }
    spin_unlock(&space->lock);
    return alone;
}

/* Makes an area in a lease of this kernel; 0: it has no room in one. */
static int64_t map_leased(struct space *space, const struct msg_space_change *change)
{
    int64_t result = 0;

    do {
        uint64_t start;

        spin_lock(&space->lock);
        start = lease_room_locked(space, change->start, change->length);
        if (start != 0)
            result = area_set(&space->areas, start, start + change->length, change->prot);
        spin_unlock(&space->lock);
        if (start != 0)
            return result != 0 ? result : (int64_t)start;
    } while (change->start == 0 && lease_take(space, change->length));
    return 0;
}

/* The home finds room where nobody has anything, or changes anything: what is locked says so, but not when that is
 * everything. When all room is locked, the whole space is: then nobody has a lock, and who waits for one finds the new
 * area. The others learn of the area when they fault in it. */
static int64_t map_anywhere(struct space *space, struct msg_space_change *change)
{
    int64_t result = -EAGAIN;

    if (space_ranges)
        result = space_ask_home(space, change);
    if (result != -EAGAIN)
        return result;
    result = space_acquire(space, SPACE_HEAVY);
    if (result != 0)
        return result;
    change->target |= SPACE_MAP_BUSY;
    result = space_ask_home(space, change);
    space_release(space, SPACE_HEAVY);
    return result;
}

/* An area that grows begins at ADDRESS: nobody is to map anything in its way without a word. */
static void reclaim_below(struct space *space, uint64_t address)
{
    struct msg_space_change change = {
        .space = space->id, .length = SPACE_STACK_MAX + SPACE_STACK_GAP, .operation = SPACE_RECLAIM};

    if (change.length > address)
        change.length = address;
    change.start = address - change.length;
    space_ask_home(space, &change); /* without memory it may find less room */
}

static int64_t map(struct space *space, uint64_t address, uint64_t length, uint32_t prot, uint32_t how,
                   uint64_t backing)
{
    bool fixed = (how & (SPACE_MAP_FIXED | SPACE_MAP_KEEP)) != 0, replace = (how & SPACE_MAP_KEEP) == 0;
    struct msg_space_change change = {.space = space->id,
                                      .start = address,
                                      .length = page_up(length),
                                      .operation = SPACE_MAP,
                                      .prot = prot,
                                      .target = how,
                                      .room = backing};
    int64_t result;

    if (length == 0)
        return -EINVAL;
    if (length > USER_END || (fixed && address > USER_END - change.length))
        return -ENOMEM;
    if (fixed && (address & (PAGE_SIZE - 1)) != 0)
        return -EINVAL;
    if (fixed && address < MAP_LOW)
        return -EPERM;
    if (!fixed) {
        change.start &= ~(PAGE_SIZE - 1);
        if (change.start > USER_END - change.length)
            change.start = 0;
        else if (change.start != 0 && change.start < MAP_LOW)
            change.start = MAP_LOW;
    }
    if (change_alone(space, &change, fixed && replace, &result))
        return result;
    if (how == 0 && lease_may_have(prot, backing) && space_promised(prot, change.length)) {
        result = map_leased(space, &change);
        if (result != 0)
            return result;
    }
    space_count_change(space);
    if (!fixed)
        return map_anywhere(space, &change);
    result = space_acquire(space, range_of(&change));
    if (result != 0)
        return result;
    if (replace)
        result = space_unmap_everywhere(space, address, change.length, SPACE_UNMAP);
    if (result == 0)
        result = space_ask_home(space, &change);
    space_release(space, range_of(&change));
    if (result > 0 && (prot & AREA_GROWS) != 0)
        reclaim_below(space, address);
    return result;
}

int64_t space_map(struct space *space, uint64_t address, uint64_t length, uint32_t prot, uint32_t how, uint64_t backing)
{
    int64_t result = map(space, address, length, prot, how, backing);

    if (result < 0 || (result & MAP_FILL) == 0)
        return result;
    space_map_fill(space, (uint64_t)result & ~MAP_FILL, length, prot);
    return result & ~(int64_t)MAP_FILL;
}

/* Here and everywhere the pages of CHANGE, SPACE_UNMAP or SPACE_DISCARD, are let go of. */
static int let_go(struct space *space, const struct msg_space_change *change)
{
    int64_t result;

    if (change_alone(space, change, false, &result))
        return (int)result;
    result = space_acquire(space, range_of(change));
    if (result != 0)
        return (int)result;
    space_count_change(space);
    result = space_unmap_everywhere(space, change->start, change->length, change->operation);
    space_release(space, range_of(change));
    return (int)result;
}

int space_unmap(struct space *space, uint64_t address, uint64_t length)
{
    struct msg_space_change change = {
        .space = space->id, .start = address, .length = page_up(length), .operation = SPACE_UNMAP};

    if (length == 0 || (address & (PAGE_SIZE - 1)) != 0 || !user_range(address, length))
        return -EINVAL;
    return let_go(space, &change);
}

int space_discard(struct space *space, uint64_t address, uint64_t length)
{
    struct msg_space_change change = {
        .space = space->id, .start = address, .length = page_up(length), .operation = SPACE_DISCARD};

    if ((address & (PAGE_SIZE - 1)) != 0 || length > USER_END)
        return -EINVAL;
    if (length == 0)
        return 0;
    if (!user_range(address, length))
        return -ENOMEM;
    return let_go(space, &change);
}

int64_t space_look(struct space *space, uint64_t address, enum space_look_at what)
{
    struct msg_space_change change = {.space = space->id,
                                      .start = address & ~(PAGE_SIZE - 1),
                                      .length = PAGE_SIZE,
                                      .operation = SPACE_LOOK,
                                      .target = what};

    return address < USER_END ? space_ask_home(space, &change) : -ENOMEM;
}

int space_protect(struct space *space, uint64_t address, uint64_t length, uint32_t prot)
{
    struct msg_space_change change = {
        .space = space->id, .start = address, .length = page_up(length), .operation = SPACE_PROTECT, .prot = prot};
    int64_t result;

    if ((address & (PAGE_SIZE - 1)) != 0)
        return -EINVAL;
    if (length == 0)
        return 0;
    if (!user_range(address, length))
        return -ENOMEM;
    if (change_alone(space, &change, false, &result))
        return (int)result;
    result = space_acquire(space, range_of(&change));
    if (result != 0)
        return (int)result;
    space_count_change(space);
    result = space_ask_home(space, &change); /* it knows every area: it refuses before anything has changed */
    if (result == 0)
        result = space_apply_others(space, &change, "protect");
    space_release(space, range_of(&change));
    return (int)result;
}
