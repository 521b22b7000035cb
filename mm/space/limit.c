/* RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK and RLIMIT_MEMLOCK, enforced at the home, which knows all areas. No lease of a
 * space whose size is limited is granted, so every mapping is made by the home; no lease has locked areas. */
#include "mm/space/limit.h"

void space_set_limits(struct space *space, const struct space_limits *limits)
{
    spin_lock(&space->lock);
    space->limits = *limits;
    spin_unlock(&space->lock);
}

static bool is_data(uint32_t prot)
{
    return (prot & (AREA_WRITE | AREA_SHARED | AREA_GROWS)) == AREA_WRITE;
}

bool space_limited_locked(const struct space *space)
{
    return space->limits.all != UINT64_MAX || space->limits.data != UINT64_MAX;
}

bool space_may_have_locked(const struct space *space, uint32_t prot, uint64_t start, uint64_t end)
{
    uint64_t all = end - start, data = is_data(prot) ? end - start : 0;

    if (!space_limited_locked(space))
        return true;
    for (const struct area *area = area_next(&space->areas, 0); area != NULL; area = area_after(&space->areas, area)) {
        uint64_t size = area->end - area->start;

        if (area->start < end && start < area->end) /* the part that is replaced does not count twice */
            size -= (area->end < end ? area->end : end) - (area->start > start ? area->start : start);
        all += size;
        data += is_data(area->prot) ? size : 0;
    }
    return all <= space->limits.all && (!is_data(prot) || data <= space->limits.data);
}

bool (*space_locks_any)(void);

bool space_may_lock_locked(const struct space *space, uint32_t prot, uint64_t more)
{
    uint64_t locked = space->areas.locked + space->locking, limit = space->limits.locked;

    return (prot & SPACE_UNLIMITED) != 0 || (locked <= limit && more <= limit - locked);
}

uint64_t space_stack_most_locked(const struct space *space)
{
    return space->limits.stack < SPACE_STACK_MAX ? space->limits.stack : SPACE_STACK_MAX;
}
