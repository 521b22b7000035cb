/* Areas that grow: the stack, and what MAP_GROWSDOWN asked for. A touch anywhere between such an area and the one below
 * makes it come down to the page, unless it would be larger than SPACE_STACK_MAX or nearer than SPACE_STACK_GAP to an
 * area that is not of its kind and allows something, as on Linux.
 *
 * The home decides. It says first what the growth would be, so that the range can be locked, and looks again when that
 * is done: a lock says that nobody is still letting go of pages there. */
#include "mm/fault/grow.h"

#include "kernel/abi/errno.h"
#include "mm/lease/decide.h"
#include "mm/lease/lease.h"
#include "mm/lease/room.h"
#include "mm/lock/lock.h"
#include "mm/space/call_home.h"
#include "mm/space/limit.h"

/* The area that is to come down to PAGE; NULL: none. */
static struct area *growing_locked(const struct space *space, uint64_t page)
{
    struct area *area = area_next(&space->areas, page);
    const struct area *below;

    if (area == NULL || (area->prot & AREA_GROWS) == 0 || area->start <= page)
        return NULL;
    if (page < MAP_LOW || area->end - page > space_stack_most_locked(space) ||
        !space_may_have_locked(space, area->prot, page, area->start))
        return NULL;
    below = area_before(&space->areas, area);
    if (below != NULL && (below->prot & AREA_GROWS) == 0 && (below->prot & AREA_PROT) != 0 &&
        page - below->end < SPACE_STACK_GAP)
        return NULL;
    return area;
}

bool space_growth_recalls_locked(struct space *space, const void *context, struct space_range *range)
{
    const struct msg_space_change *change = context;
    uint64_t page = change->start;
    const struct area *area = area_next(&space->areas, page);

    if (area == NULL || (area->prot & AREA_GROWS) == 0 || area->start <= page || area->end - page > SPACE_STACK_MAX)
        return false;
    range->start = page > SPACE_STACK_GAP ? page - SPACE_STACK_GAP : 0;
    range->end = area->start;
    return true;
}

/* At the home: 1: AREA, which it sets, is to come down to PAGE for ACCESS; 0: somebody was faster; -EACCES: and it
 * allows no such access; -EFAULT: none. */
static int look_locked(struct space *space, uint64_t page, uint32_t access, struct area **area)
{
    const struct area *there = area_find(&space->areas, page);

    if (there != NULL)
        return area_allows(there->prot, access) ? 0 : -EACCES;
    *area = growing_locked(space, page);
    return *area != NULL ? 1 : -EFAULT;
}

static int grow_locked(struct space *space, struct area *area, uint64_t page)
{
    return area_set(&space->areas, page, area->start, area->prot);
}

int64_t space_apply_growth_locked(struct space *space, const struct msg_space_change *change)
{
    struct area *area;
    int found;

    found = look_locked(space, change->start, change->prot, &area);
    if (found <= 0)
        return found == 0 ? -EAGAIN : found;
    if (change->operation == MSG_SPACE_GROWTH)
        return (int64_t)area->start;
    if (area->start - change->start != change->length)
        return -EAGAIN;
    return grow_locked(space, area, change->start);
}

/* Asks the home, be it this kernel or another. */
static int64_t ask(struct space *space, const struct msg_space_change *change)
{
    int64_t result = 0;

    if (space->home != instance.kernel)
        return space_call_home(space, change);
    if (change->operation == MSG_SPACE_GROWTH)
        result = lease_await_found(space, space_growth_recalls_locked, change);
    if (result != 0)
        return result;
    spin_lock(&space->lock);
    result = space_apply_growth_locked(space, change);
    spin_unlock(&space->lock);
    return result;
}

int space_grow(struct space *space, uint64_t page, uint32_t access)
{
    struct msg_space_change change = {
        .space = space->id, .start = page, .length = PAGE_SIZE, .operation = MSG_SPACE_GROWTH, .prot = access};
    struct space_range range = {page, 0};
    struct space_lock lock;
    struct area *area;
    int64_t result;
    bool alone;

    spin_lock(&space->lock);
    alone = space_alone_locked(space);
    if (alone) {
        result = look_locked(space, page, access, &area);
        if (result > 0)
            result = grow_locked(space, area, page);
    }
    spin_unlock(&space->lock);
    if (alone)
        return (int)result;
    result = ask(space, &change);
    if (result > 0) {
        range.end = (uint64_t)result;
        change.length = range.end - page;
        change.operation = MSG_SPACE_GROW;
        result = space_acquire(space, range, &lock);
        if (result == 0) {
            result = ask(space, &change);
            space_release(space, &lock);
        }
    }
    return result == -EAGAIN ? 0 : (int)result;
}
