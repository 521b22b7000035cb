/* May this kernel decide here? Each fault and each change asks that first, with space->lock held, and decides in the
 * same critical section: who joins, asks for a lock or recalls a lease takes that lock, too. */
#ifndef MM_LEASE_DECIDE_H
#define MM_LEASE_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/range.h"
#include "mm/lease/lease.h"
#include "mm/space/space.h"

/* What this kernel may decide, each more than the one before. */
enum space_decides {
    /* Nothing: the home is asked, or the range is locked. */
    DECIDES_NOT,
    /* What a page gets that has nothing here: this is the home and its tables are the directory, nobody has or wants
     * the lock of a part, and no other kernel has a lease of one. So what is not here nobody has, and nobody is about
     * to change that. */
    DECIDES_MISSING,
    /* Also changes of areas and entries: this kernel has a lease of all of it (mm/lease/lease.md). */
    DECIDES_LEASE,
    /* All: this is the home, no other kernel hosts the space, and no task here has or wants a lock of any part. Then
     * space->lock is enough. */
    DECIDES_ALONE
};

/* What this kernel may decide in RANGE, or NOT when that is less than LEAST, a constant: only what leads so far is
 * looked at. DECIDES_ALONE is true of the whole space, whatever RANGE is. */
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

/* It is this kernel alone that decides, for the whole space. */
static inline bool space_alone_locked(const struct space *space)
{
    return space_decides_locked(space, SPACE_HEAVY, DECIDES_ALONE) == DECIDES_ALONE;
}

#endif
