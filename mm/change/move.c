/* The steps of a moving range of an address space on one kernel: prepare, move, cancel. mm/change/remap.md. The kernel
 * of the caller has locked both places. */
#include "kernel/abi/errno.h"
#include "mm/area/backing.h"
#include "mm/change/internal.h"
#include "mm/lease/room.h"
#include "mm/space/entry.h"
#include "mm/space/limit.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

#define MOVED_AT_ONCE (128 * PAGE_SIZE) /* a power of two */

struct moving {
    struct space *space;
    uint64_t from, to;
    int error;
};

static void prepare_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct moving *moving = context;
    const uint64_t *there;

    (void)size;
    if ((*entry & PAGING_SOFT_PENDING_FREE) != 0 || moving->error != 0)
        return;
    there = paging_entry(&moving->space->tables, va - moving->from + moving->to, true);
    if (there == NULL || *there != 0) /* an entry there is pending free since an unmap that ran out of memory */
        moving->error = -ENOMEM;
}

static void move_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct moving *moving = context;
    uint64_t to = va - moving->from + moving->to;

    (void)size;
    if ((*entry & PAGING_SOFT_PENDING_FREE) != 0)
        return; /* stays at its address until another unmap there */
    *paging_entry(&moving->space->tables, to, false) = space_entry_moved(moving->space, to, *entry);
    *entry = 0;
}

/* Calls VISIT for the entries of [START, END), with pauses. */
static void walk_locked(struct moving *moving, uint64_t start, uint64_t end,
                        void (*visit)(void *context, uint64_t va, uint64_t *entry, uint64_t size))
{
    uint64_t stop;

    for (uint64_t at = start; space_next_pages_locked(moving->space, &at, end, MOVED_AT_ONCE, &stop); at = stop) {
        if (at != start)
            space_pause_locked(moving->space);
        paging_visit(&moving->space->tables, at, stop, visit, moving);
    }
}

/* The backing of the page that moves to the start of the new place. *KNOWN: this kernel has an area in the old place;
 * without one it has no entries there either. *POLICY: the policy bits of that area. */
static uint64_t backing_known(const struct space *space, const struct msg_space_change *change, bool *known,
                              uint32_t *policy)
{
    const struct area *area = area_next(&space->areas, change->start);

    *known = area != NULL && area->start < change->start + change->length;
    *policy = *known ? area->prot & (AREA_POLICY | AREA_LOST) : 0;
    return *known ? area_backing_at(area, change->start) : BACKING_NONE;
}

/* Marks the area of the old place AREA_MOVING and makes the new one with that mark. A marked area is not merged with
 * one that is not marked, so that the following move or cancel splits no area and needs no memory. */
static int prepare_areas(struct space *space, const struct msg_space_change *change)
{
    uint64_t added = change->move.room - change->length, backing;
    uint32_t policy;
    bool known;
    int error;

    backing = backing_known(space, change, &known, &policy);
    if (space->home == instance.kernel) {
        if (area_overlaps(&space->areas, change->move.to, change->move.to + change->move.room))
            return -EEXIST;
        if (!space_commit_allowed(change->prot, (change->prot & AREA_MOVING) != 0 ? change->move.room : added))
            return -ENOMEM;
        if ((change->prot & AREA_LOCKED) != 0 && !space_may_lock_locked(space, change->prot, added))
            return -ENOLCK;
        if (known && !backing_may_grow(backing, change->length / PAGE_SIZE, change->move.room / PAGE_SIZE))
            return -ENOMEM;
        /* who knows a part of the old place knows all of the new one from now on */
        sharers_mark(&space->sharers, change->move.to, change->move.to + change->move.room,
                     sharers_in(&space->sharers, change->start, change->start + change->length));
    }
    /* the new place has AREA_LOCKED from now on, and so the old one has not: the bytes count once */
    error = area_flag(&space->areas, change->start, change->start + change->length, AREA_MOVING, AREA_LOCKED);
    if (error == 0 && known) /* without it, a fault at the new place fetches the area */
        error = area_set_backed(&space->areas, change->move.to, change->move.to + change->move.room,
                                (change->prot & AREA_BITS) | AREA_MOVING | policy, backing);
    return error;
}

int64_t space_apply_cancel_locked(struct space *space, const struct msg_space_change *change)
{
    area_flag(&space->areas, change->start, change->start + change->length, change->prot & AREA_LOCKED, AREA_MOVING);
    area_remove(&space->areas, change->move.to, change->move.to + change->move.room);
    return 0;
}

int64_t space_apply_prepare_locked(struct space *space, const struct msg_space_change *change)
{
    struct moving moving = {space, change->start, change->move.to, prepare_areas(space, change)};

    if (moving.error == -EEXIST)
        return -EEXIST;
    if (moving.error == 0)
        walk_locked(&moving, change->start, change->start + change->length, prepare_entry);
    if (moving.error != 0)
        space_apply_cancel_locked(space, change);
    return moving.error;
}

int64_t space_apply_move_locked(struct space *space, const struct msg_space_change *change)
{
    struct moving moving = {space, change->start, change->move.to, 0};
    uint64_t end = change->start + change->length;

    walk_locked(&moving, change->start, end, move_entry);
    space_flush(space, change->start, end);
    if ((change->prot & AREA_MOVING) != 0)
        area_flag(&space->areas, change->start, end, 0, AREA_MOVING);
    else
        area_remove(&space->areas, change->start, end);
    area_flag(&space->areas, change->move.to, change->move.to + change->move.room, 0, AREA_MOVING);
    return 0;
}
