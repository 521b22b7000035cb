/* The program break, which the home keeps. To move it, a kernel asks the home where it is, locks the pages between the
 * old and the new break, and then requests the move with both values. If the break has moved in between, the home
 * answers -EAGAIN and the kernel starts again, so that it never needs a second lock while it holds one. */
#include "kernel/abi/errno.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/lease/decide.h"
#include "mm/lease/room.h"
#include "mm/lock/lock.h"
#include "mm/space/entry.h"
#include "mm/space/limit.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

#define BREAK_FILL (1ll << 62) /* of an answer: the pages that were added are to get frames at once */

/* Sets the break if that is possible, and returns the break, with BREAK_FILL. Growth adds an area; after shrinking, the
 * caller unmaps. UNLIMITED: SPACE_UNLIMITED or 0. */
static int64_t set_break_locked(struct space *space, uint64_t wanted, uint32_t unlimited)
{
    uint64_t old_end = page_up(space->break_now);
    uint64_t new_end = page_up(wanted);
    const uint32_t prot = AREA_READ | AREA_WRITE;

    if (wanted < space->break_start || wanted >= MAP_TOP)
        return (int64_t)space->break_now;
    if (new_end > old_end &&
        (area_overlaps(&space->areas, old_end, new_end + PAGE_SIZE) || !space_gap_kept_locked(space, new_end) ||
         (space->later != 0 && !space_may_lock_locked(space, unlimited, new_end - old_end)) ||
         !space_commit_allowed(prot, new_end - old_end) || !space_may_have_locked(space, prot, old_end, new_end) ||
         area_set(&space->areas, old_end, new_end, prot | (space->later & AREA_LOCKED)) != 0))
        return (int64_t)space->break_now;
    space->break_now = wanted;
    return new_end > old_end && (space->later & SPACE_FILLS) != 0 ? (int64_t)wanted | BREAK_FILL : (int64_t)wanted;
}

int64_t space_apply_break_locked(struct space *space, const struct msg_space_change *change)
{
    if (change->brk.to == 0)
        return (int64_t)space->break_now;
    return change->brk.from == space->break_now ? set_break_locked(space, change->brk.to, change->prot) : -EAGAIN;
}

static int64_t break_alone_locked(struct space *space, uint64_t wanted)
{
    uint64_t old = page_up(space->break_now), now;
    int64_t result = set_break_locked(space, wanted, space_unlimited());

    now = page_up(space->break_now);
    if (now < old && space_unmap_locked(space, now, old - now, SPACE_LAST) > 0)
        space_settle_locked(space, now, old);
    return result;
}

/* Gives the pages that RESULT of set_break_locked has added behind OLD frames, if they are locked. Returns the break.
 */
static int64_t fill(struct space *space, uint64_t old, int64_t result)
{
    uint64_t start = page_up(old), now = (uint64_t)(result & ~BREAK_FILL);

    if (result < 0 || (result & BREAK_FILL) == 0)
        return result;
    space_map_fill(space, start, page_up(now) - start, AREA_READ | AREA_WRITE);
    return (int64_t)now;
}

/* Tries to move the break. Returns the break, or -EAGAIN: another task has moved it in between. */
static int64_t break_once(struct space *space, uint64_t wanted)
{
    struct msg_space_change change = {.space = space->id, .operation = MSG_SPACE_BREAK, .prot = space_unlimited()};
    int64_t now = space_ask_home(space, &change), result;
    struct space_range range;
    struct space_lock lock;

    if (now < 0)
        return 0;
    if (wanted == 0 || wanted >= MAP_TOP)
        return now;
    range = (struct space_range){page_up((uint64_t)now), page_up(wanted)};
    if (range.end < range.start)
        range = (struct space_range){range.end, range.start};
    if (range.start != range.end && space_acquire(space, range, &lock) != 0)
        return now;
    change.brk.from = (uint64_t)now;
    change.brk.to = wanted;
    result = space_ask_home(space, &change); /* refused if WANTED is below break_start: then nothing is unmapped */
    if (result == (int64_t)wanted && wanted < (uint64_t)now && range.start != range.end) {
        space_lock_gone(&lock, range);
        if (space_unmap_everywhere(space, &lock, range.start, range.end - range.start) != 0) {
            change.brk.from = wanted; /* a kernel may still map the pages: they must not be mapped again as new ones */
            change.brk.to = (uint64_t)now;
            result = space_ask_home(space, &change);
            result = result > 0 ? result & ~BREAK_FILL : result;
        }
    }
    if (range.start != range.end)
        space_release(space, &lock);
    return result < 0 && result != -EAGAIN ? now : fill(space, (uint64_t)now, result);
}

uint64_t space_break(struct space *space, uint64_t address)
{
    uint64_t old;
    int64_t result = 0;
    bool alone;

    spin_lock(&space->lock);
    space_count_call_locked(space, MSG_SPACE_BREAK);
    alone = space_alone_locked(space) &&
            !space_is_long_locked(space, page_up(address),
                                  page_up(space->break_now)); /* what a shrinking break unmaps */
    space->at_once = alone;
    old = space->break_now;
    if (alone)
        result = break_alone_locked(space, address);
    space->at_once = false;
    spin_unlock(&space->lock);
    if (alone)
        return (uint64_t)fill(space, old, result);
    space_count_change(space);
    do
        result = break_once(space, address);
    while (result == -EAGAIN);
    return (uint64_t)result;
}

void space_set_break(struct space *space, uint64_t start)
{
    space->break_start = start;
    space->break_now = start;
}
