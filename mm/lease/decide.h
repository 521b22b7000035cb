/* Whether this kernel may decide by itself. Each fault and each change checks this first, with space->lock held, and
 * decides in the same critical section. Joins, lock requests and recalls of leases take space->lock, too, so the result
 * stays valid there. */
#ifndef MM_LEASE_DECIDE_H
#define MM_LEASE_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/range.h"
#include "mm/lease/lease.h"
#include "mm/space/space.h"

/* What this kernel may decide; each value includes the ones before it. */
enum space_decides {
    /* Nothing: the kernel has to ask the home or to lock the range. */
    DECIDES_NOT,
    /* The frame of a page that is not mapped here. This is the home and its page tables are the directory, no task has
     * or awaits a lock that overlaps the range, and no other kernel has a lease that does. So a page that is missing
     * here is missing on every kernel, and no operation under way can change that. */
    DECIDES_MISSING,
    /* Also changes of areas and entries: this kernel has a lease of all of it (mm/lease/lease.md). */
    DECIDES_LEASE,
    /* Everything: this is the home, no other kernel hosts the space, and no task here holds or awaits a distributed
     * lock of any part of it. space->lock is enough. */
    DECIDES_ALONE
};

/* Returns what this kernel may decide in RANGE, or DECIDES_NOT if that is less than LEAST. LEAST is a constant, so that
 * the checks for lower values are compiled out. DECIDES_ALONE holds for the whole space, whatever RANGE is. */
static inline __attribute__((always_inline)) enum space_decides
space_decides_locked(const struct space *space, struct space_range range, enum space_decides least)
{
    if (space->home == instance.kernel && space->members == 1ull << instance.kernel && space->slow == 0)
        return DECIDES_ALONE;
    if (least <= DECIDES_LEASE && lease_covers_locked(space, range.start, range.end))
        return DECIDES_LEASE;
    if (least <= DECIDES_MISSING && space->home == instance.kernel && space->retrieval->home_knows &&
        !space_locking->taken_locked(space, range.start, range.end) &&
        lease_others_locked(space, range.start, range.end) == NULL)
        return DECIDES_MISSING;
    return DECIDES_NOT;
}

/* True if this kernel alone decides for the whole space. */
static inline bool space_alone_locked(const struct space *space)
{
    return space_decides_locked(space, SPACE_HEAVY, DECIDES_ALONE) == DECIDES_ALONE;
}

#endif
