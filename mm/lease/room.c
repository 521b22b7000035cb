/* Room for new mappings in an address space, and the commit charge check. */
#include "mm/lease/room.h"

#include "mm/lease/lease.h"
#include "mm/space/limit.h"

#define LOW_START 0x40000000ull /* the range of MAP_32BIT */
#define LOW_END 0x80000000ull

/* Returns END, or a lower address: an area that grows down above END keeps a gap free, and a new area has to end at or
 * below the returned address to respect it. */
static uint64_t growth_limit(const struct space *space, uint64_t end)
{
    const struct area *above = area_next(&space->areas, end);

    if (above == NULL || (above->prot & AREA_GROWS) == 0 || above->start - end >= SPACE_STACK_GAP)
        return end;
    return above->start > SPACE_STACK_GAP ? above->start - SPACE_STACK_GAP : 0;
}

bool space_gap_kept_locked(const struct space *space, uint64_t end)
{
    return growth_limit(space, end) == end;
}

/* Returns the start, perhaps below START, of the lowest lease, lock or lock request that overlaps [START, END); with
 * SPACE_MAP_BUSY, of the lowest lease. END: there is none. A search continues below the returned address, which skips
 * all of that range at once, however large it is. */
static uint64_t busy_from(const struct space *space, uint64_t start, uint64_t end, uint32_t how)
{
    uint64_t locked = (how & SPACE_MAP_BUSY) != 0 ? end : space_locking->busy_locked(space, start, end);
    uint64_t leased = lease_lowest_locked(space, start, end);

    return leased < locked ? leased : locked;
}

static bool is_free(const struct space *space, uint64_t start, uint64_t end, uint32_t how)
{
    return !area_overlaps(&space->areas, start, end) && space_gap_kept_locked(space, end) &&
           busy_from(space, start, end, how) == end;
}

uint64_t space_gap_locked(const struct space *space, uint64_t length, uint64_t bottom, uint64_t high, uint32_t how)
{
    uint64_t start;

    while ((start = area_find_gap(&space->areas, length, bottom, high)) != 0) {
        uint64_t end = start + length;

        high = growth_limit(space, end);
        if (high == end)
            high = busy_from(space, start, end, how);
        if (high == end)
            return start;
    }
    return 0;
}

uint64_t space_room_locked(const struct space *space, uint64_t hint, uint64_t length, uint32_t how)
{
    bool low = (how & SPACE_MAP_LOW) != 0;
    uint64_t hint_end = low ? LOW_END : USER_END;

    if (hint != 0 && length <= hint_end && hint <= hint_end - length && is_free(space, hint, hint + length, how))
        return hint;
    return space_gap_locked(space, length, low ? LOW_START : MAP_LOW, low ? LOW_END : MAP_TOP, how);
}

bool space_commit_allowed(uint32_t prot, uint64_t length)
{
    uint64_t bytes = 0;

    if ((prot & AREA_NORESERVE) != 0 || (prot & (AREA_WRITE | AREA_SHARED)) == 0)
        return true;
    for (uint32_t i = 0; i < instance.plan.kernel_count; i++)
        bytes += instance.plan.kernels[i].memory;
    return length <= bytes;
}
