/* Unmaps the pages that a file has lost. See the header, and mm/file/file_map.md for the protocol. mm/change/apply.c
 * performs SPACE_REVOKE on one kernel. */
#include "mm/change/revoke.h"

#include "kernel/lib/list.h"
#include "mm/area/backing.h"
#include "mm/change/internal.h"
#include "mm/lease/decide.h"
#include "mm/lock/lock.h"
#include "mm/space/wire.h"

static volatile uint64_t begun; /* [a] revocations that this kernel was asked to perform so far */

void space_revoke_begins(void)
{
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
}

uint64_t space_revokes(void)
{
    return __atomic_load_n(&begun, __ATOMIC_SEQ_CST);
}

/* Sets the range of CHANGE to the smallest one that contains all areas of its object. False: there is no such area. */
static bool find_range_locked(const struct space *space, struct msg_space_change *change)
{
    uint64_t start = UINT64_MAX, end = 0;

    list_for_each(node, &space->areas.head) {
        const struct area *area = container_of(node, const struct area, node);

        if (area->backing == BACKING_NONE || backing_whole(area->backing) != backing_whole(change->revoke.first))
            continue;
        start = area->start < start ? area->start : start;
        end = area->end;
    }
    if (end == 0)
        return false;
    change->start = start;
    change->length = end - start;
    return true;
}

int space_revoke(struct space *space, uint64_t first, uint64_t pages, bool copies)
{
    struct msg_space_change change = {.space = space->id,
                                      .operation = MSG_SPACE_REVOKE,
                                      .revoke = {.first = first, .pages = pages, .copies = copies}};
    struct space_lock lock;
    bool found, alone;
    int error = 0;

    spin_lock(&space->lock);
    found = find_range_locked(space, &change);
    alone = space_alone_locked(space) &&
            (!found || !space_is_long_locked(space, change.start, change.start + change.length));
    if (found && alone) {
        space->at_once = true;
        space_apply_locked(space, &change);
        error = space_settle_locked(space, change.start, change.start + change.length);
        space->at_once = false;
    }
    spin_unlock(&space->lock);
    if (!found || alone)
        return error;
    error = space_acquire(space, SPACE_HEAVY, &lock);
    if (error != 0)
        return error;
    spin_lock(&space->lock);
    found = find_range_locked(space, &change);
    spin_unlock(&space->lock);
    if (found)
        error = space_settle_everywhere(space, space_lock_others(space, &lock), &change, "pages of a shorter file");
    space_release(space, &lock);
    return error;
}

int space_catch_up(struct space *space)
{
    const struct area *area;
    int error = 0;

    if (space->revokes_seen == space_revokes())
        return 0;
    spin_lock(&space->lock);
    for (uint64_t at = 0; (area = area_next(&space->areas, at)) != NULL;) {
        uint64_t start = area->start, end = area->end;
        struct msg_space_change change = {
            .space = space->id,
            .start = area->start,
            .length = area->end - area->start,
            .operation = MSG_SPACE_REVOKE,
            .revoke = {.first = area->backing, .pages = (area->end - area->start) / PAGE_SIZE}};

        at = end;
        if (!backing_is_file(area->backing) || (area->prot & AREA_SHARED) == 0)
            continue;
        space_apply_locked(space, &change);
        if (space_settle_locked(space, start, end) != 0)
            error = -1;
        space_pause_locked(space);
    }
    spin_unlock(&space->lock);
    return error;
}
