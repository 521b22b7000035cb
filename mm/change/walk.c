/* Walks over a range in slices: what a change does to many pages or areas is done in steps, between which space->lock
 * is free and messages are taken (msg/slice.h). See mm/change/internal.h. */
#include "kernel/instance/instance.h"
#include "mm/change/internal.h"
#include "mm/page/replica.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "msg/slice.h"

#define PAGES_AT_ONCE 128u /* pages that are changed under space->lock without a pause */

/* True if more than PAGES_AT_ONCE pages of [START, END) have entries here, or if it has entries in two tables. */
static bool many_pages_locked(const struct space *space, uint64_t start, uint64_t end)
{
    uint64_t va = start;
    const uint64_t *leaf = paging_next_leaf_look(&space->tables, &va, end);
    uint32_t used = 0, last;

    if (leaf == NULL)
        return false;
    va = va > start ? va : start;
    last = end - (va & ~(LEAF_SIZE - 1)) >= LEAF_SIZE ? LEAF_ENTRIES : paging_index(end - 1) + 1;
    for (uint32_t i = paging_index(va); (i = paging_next_used(leaf, i, last)) < last; i++) {
        if (++used > PAGES_AT_ONCE)
            return true;
    }
    va = (va & ~(LEAF_SIZE - 1)) + LEAF_SIZE;
    return paging_next_leaf_look(&space->tables, &va, end) != NULL;
}

static bool many_areas_locked(const struct space *space, uint64_t start, uint64_t end)
{
    uint32_t count = 0;

    for (const struct area *area = area_next(&space->areas, start); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        if (++count >= AREAS_AT_ONCE)
            return true;
    }
    return false;
}

bool space_is_long_locked(const struct space *space, uint64_t start, uint64_t end)
{
    if (end <= start || (end - start) / PAGE_SIZE < AREAS_AT_ONCE)
        return false;
    return many_areas_locked(space, start, end) ||
           ((end - start) / PAGE_SIZE > PAGES_AT_ONCE && many_pages_locked(space, start, end));
}

void space_pause_locked(struct space *space)
{
    if (space->at_once || silence_length() <= SLICE_COUNTS)
        return;
    spin_unlock(&space->lock);
    slice_pause();
    spin_lock(&space->lock);
}

void space_drop_replicas_locked(struct space *space, uint64_t start, uint64_t end)
{
    uint64_t stop;

    for (uint64_t at = start; space->replicas != 0 && space_next_pages_locked(space, &at, end, LEAF_SIZE, &stop);
         at = stop) {
        if (at != start)
            space_pause_locked(space);
        replicas_drop_locked(space, at, stop);
    }
}

int64_t space_apply(struct space *space, const struct msg_space_change *change)
{
    int64_t result;
    bool follows;

    spin_lock(&space->lock);
    /* This kernel only follows a change that another has decided on: it must not refuse it for what it has itself. In a
     * pause another change of the space may begin or end. */
    follows = space->home != instance.kernel;
    space->areas.follows += follows ? 1 : 0;
    result = space_apply_locked(space, change);
    space->areas.follows -= follows ? 1 : 0;
    spin_unlock(&space->lock);
    return result;
}

bool space_next_pages_locked(struct space *space, uint64_t *at, uint64_t end, uint64_t size, uint64_t *stop)
{
    const uint64_t *leaf;
    uint64_t va = *at;

    if (va >= end)
        return false;
    leaf = paging_next_leaf_look(&space->tables, &va, end);
    if (leaf == NULL || va >= end)
        return false;
    if (va > *at) /* else it is the start of the table of *AT */
        *at = va;
    va = (*at & ~(size - 1)) + size;
    *stop = va < end ? va : end;
    return true;
}

uint64_t space_next_areas_locked(const struct space *space, uint64_t start, uint64_t end)
{
    uint32_t count = 0;

    if (end - start < AREAS_AT_ONCE * PAGE_SIZE)
        return end;
    for (const struct area *area = area_next(&space->areas, start); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        if (++count == AREAS_AT_ONCE)
            return area->start;
    }
    return end;
}
