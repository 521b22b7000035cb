/* Areas that grow down: the stack, and areas made with MAP_GROWSDOWN. A touch anywhere between such an area and the one
 * below extends it down to the page, unless it would exceed SPACE_STACK_MAX or a limit of the process, or come nearer
 * than SPACE_STACK_GAP to an accessible area that does not grow itself, as on Linux.
 *
 * The home decides, in two steps. First it says which range the growth would add; the caller locks that range, so that
 * no unmap of it is under way any more; then the home checks again and lets the area grow. */
#include "mm/fault/grow.h"

#include "kernel/abi/errno.h"
#include "mm/lease/decide.h"
#include "mm/lease/lease.h"
#include "mm/lease/room.h"
#include "mm/lock/lock.h"
#include "mm/page/install.h"
#include "mm/space/call_home.h"
#include "mm/space/limit.h"

/* The area that may grow down to PAGE, or NULL. UNLIMITED: may have SPACE_UNLIMITED. */
static struct area *growing_locked(const struct space *space, uint64_t page, uint32_t unlimited)
{
    struct area *area = area_next(&space->areas, page);
    const struct area *below;

    if (area == NULL || (area->prot & AREA_GROWS) == 0 || area->start <= page)
        return NULL;
    if (page < MAP_LOW || area->end - page > space_stack_most_locked(space) ||
        !space_may_have_locked(space, area->prot, page, area->start) ||
        ((area->prot & AREA_LOCKED) != 0 && !space_may_lock_locked(space, unlimited, area->start - page)))
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

/* ACCESS: AREA_*, and SPACE_UNLIMITED. At the home: 1: *AREA may grow down to PAGE; 0: PAGE already lies in an area
 * that allows ACCESS; -EACCES, -EHWPOISON: in one that does not; -EFAULT: no area may grow there. */
static int look_locked(struct space *space, uint64_t page, uint32_t access, struct area **area)
{
    const struct area *there = area_find(&space->areas, page);

    if (there != NULL)
        return area_allows(there->prot, access & AREA_PROT) ? 0 : space_forbidden(there->prot);
    *area = growing_locked(space, page, access);
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

/* Has the home, which may be this kernel, perform CHANGE. */
static int64_t ask(struct space *space, const struct msg_space_change *change)
{
    int64_t result = 0;

    if (space->home != instance.kernel)
        return space_call_home(space, change);
    if (change->operation == MSG_SPACE_GROWTH)
        result = lease_await_found(space, space_growth_recalls_locked, change);
    else
        spin_lock(&space->lock);
    if (result != 0)
        return result;
    result = space_apply_growth_locked(space, change);
    spin_unlock(&space->lock);
    return result;
}

int space_grow(struct space *space, uint64_t page, uint32_t access)
{
    struct msg_space_change change = {.space = space->id,
                                      .start = page,
                                      .length = PAGE_SIZE,
                                      .operation = MSG_SPACE_GROWTH,
                                      .prot = access | space_unlimited()};
    struct space_range range = {page, 0};
    struct space_lock lock;
    struct area *area;
    int64_t result;
    bool alone;

    spin_lock(&space->lock);
    alone = space_alone_locked(space);
    if (alone) {
        result = look_locked(space, page, change.prot, &area);
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
