/* madvise, mlock and mincore: flags of areas, which are set on all kernels; checks, which the home or the holder of a
 * lease makes; and pages that get frames before they are touched. */
#include "kernel/abi/errno.h"
#include "mm/area/backing.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/fault/fault.h"
#include "mm/frame/content.h"
#include "mm/lease/decide.h"
#include "mm/lock/lock.h"
#include "mm/space/call_home.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "msg/slice.h"

/* --- on one kernel --- */

static uint32_t bits_of(const struct area *area)
{
    return area->prot | (backing_is_file(area->backing) ? AREA_BACKED : 0);
}

/* Whether an area in [START, END) has one of the BITS. */
static bool any_has_locked(const struct space *space, uint64_t start, uint64_t end, uint32_t bits)
{
    for (const struct area *area = area_next(&space->areas, start); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        if ((bits_of(area) & bits) != 0)
            return true;
    }
    return false;
}

int64_t space_apply_check_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t end = change->start + change->length;
    uint32_t needed = change->check.needed, bits;

    for (const struct area *area = area_next(&space->areas, change->start); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        bits = bits_of(area);
        if ((needed & AREA_SHARED) != 0 && (bits & (AREA_SHARED | AREA_BACKED)) == (AREA_SHARED | AREA_BACKED))
            return -EACCES; /* MADV_REMOVE needs AREA_SHARED, and it does not support files */
        if ((bits & change->check.forbidden) != 0 || (needed & ~area->prot) != 0)
            return -EINVAL;
    }
    return area_covers(&space->areas, change->start, end) ? 0 : 1;
}

int64_t space_apply_flag_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t end = change->start + change->length;
    bool covered = true;
    int error = 0;

    if (space->home == instance.kernel || lease_has_locked(space, change->start, end)) { /* which has all areas */
        if (change->flag.forbidden != 0 && any_has_locked(space, change->start, end, change->flag.forbidden))
            return -EINVAL;
        covered = area_covers(&space->areas, change->start, end);
    }
    for (uint64_t at = change->start, stop; at < end && error == 0; at = stop) {
        if (at != change->start)
            space_pause_locked(space);
        stop = space_next_areas_locked(space, at, end);
        error = area_flag(&space->areas, at, stop, change->flag.set, change->flag.clear);
    }
    return error != 0 || covered ? error : 1;
}

int64_t space_apply_later_locked(struct space *space, const struct msg_space_change *change)
{
    space->later = change->prot & AREA_LOCKED;
    return 0;
}

/* --- over kernels --- */

int space_check(struct space *space, uint64_t start, uint64_t end, uint32_t forbidden, uint32_t needed)
{
    struct msg_space_change change = {.space = space->id,
                                      .start = start,
                                      .length = end - start,
                                      .operation = MSG_SPACE_CHECK,
                                      .check = {.forbidden = forbidden, .needed = needed}};

    return (int)space_ask_who_knows(space, &change);
}

int space_flag(struct space *space, uint64_t start, uint64_t end, uint32_t forbidden, uint32_t set, uint32_t clear)
{
    struct msg_space_change change = {.space = space->id,
                                      .start = start,
                                      .length = end - start,
                                      .operation = MSG_SPACE_FLAG,
                                      .flag = {.set = set, .clear = clear, .forbidden = forbidden}};
    /* a range that starts at 0 (mlockall) is locked by the whole-space lock, which lets others map meanwhile */
    struct space_range range = start == 0 ? SPACE_HEAVY : (struct space_range){start, end};
    struct space_lock lock;
    int64_t result;
    int error, covered;

    if (((set | clear) & AREA_POLICY) == 0 && space_change_alone(space, &change, false, &result))
        return (int)result;
    error = space_acquire(space, range, &lock);
    if (error != 0)
        return error;
    space_count_change(space);
    covered = (int)space_ask_home(space, &change);
    error = covered < 0 ? covered : space_apply_rest(space, space_lock_others(space, &lock), &change, "advice");
    space_release(space, &lock);
    return error != 0 ? error : covered;
}

int space_lock_later(struct space *space, bool lock)
{
    struct msg_space_change change = {
        .space = space->id, .length = PAGE_SIZE, .operation = MSG_SPACE_LATER, .prot = lock ? AREA_LOCKED : 0};

    return (int)space_ask_home(space, &change);
}

/* Sets *ACCESS to how the pages of an area with PROT are to be touched. */
static int fill_access(uint32_t prot, enum space_fill how, uint32_t *access)
{
    bool write = how == SPACE_FILL_WRITE;

    if (how == SPACE_FILL_BEST)
        write = (prot & (AREA_WRITE | AREA_SHARED)) == AREA_WRITE;
    *access = write ? AREA_WRITE : AREA_READ;
    if (how == SPACE_FILL_BEST && (prot & AREA_PROT) == 0)
        return -EFAULT;
    return how != SPACE_FILL_BEST && (prot & *access) == 0 ? -EINVAL : 0;
}

/* Translates an error of space_touch: -EFAULT behind the end of an object, else -ENOMEM, also when the area has
 * changed.
 */
static int fill_error(int error)
{
    if (error == -ENXIO)
        return -EFAULT;
    return error != 0 ? -ENOMEM : 0;
}

int space_fill_range(struct space *space, uint64_t start, uint64_t end, enum space_fill how)
{
    int error = 0;

    while (start < end && error == 0) {
        int64_t area = space_look(space, start, SPACE_LOOK_STOP);
        uint64_t stop = (uint64_t)area & ~(PAGE_SIZE - 1);
        uint32_t access;

        if (area < 0)
            return -ENOMEM;
        error = fill_access((uint32_t)((uint64_t)area & (PAGE_SIZE - 1)), how, &access);
        if (stop > end)
            stop = end;
        if (error == 0)
            error = fill_error(space_touch(space, start, stop, access));
        start = stop;
    }
    return error;
}

void space_map_fill(struct space *space, uint64_t address, uint64_t length, uint32_t prot)
{
    uint32_t access;

    if (fill_access(prot, SPACE_FILL_BEST, &access) == 0)
        space_touch(space, address, address + page_up(length), access);
}

static uint32_t window_size(uint64_t start, uint64_t end)
{
    return (end - start) / PAGE_SIZE < SPACE_RESIDENT_MAX ? (uint32_t)((end - start) / PAGE_SIZE) : SPACE_RESIDENT_MAX;
}

/* Maps here each page of [START, END) that has a frame on any kernel. */
static int touch_resident(struct space *space, uint64_t start, uint64_t end)
{
    int error = 0;

    for (uint64_t at = start; at < end && error == 0; at += SPACE_RESIDENT_MAX * PAGE_SIZE) {
        uint32_t count = window_size(at, end);
        int64_t pages = space_resident_pages(space, at, count);

        if (pages < 0)
            return (int)pages;
        for (uint32_t i = 0; i < count && error == 0; i++) {
            if ((pages >> i & 1) != 0)
                error = space_touch(space, at + i * PAGE_SIZE, at + (i + 1) * PAGE_SIZE, 0);
        }
    }
    return error;
}

static void empty_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    (void)context;
    (void)va;
    (void)size;
    if ((*entry & PAGING_SOFT_PENDING_FREE) == 0)
        frame_zero(*entry & PAGING_FRAME);
}

int space_empty(struct space *space, uint64_t start, uint64_t end)
{
    struct space_range range = {start, end};
    struct space_lock lock;
    int error = touch_resident(space, start, end);

    if (error == 0)
        error = space_acquire(space, range, &lock);
    if (error != 0)
        return error == -EFAULT ? -ENOMEM : error;
    error = space_check(space, start, end, AREA_LOCKED, AREA_SHARED); /* again: the areas may have changed */
    for (uint64_t at = error >= 0 ? start : end; at < end; at = (at & ~(LEAF_SIZE - 1)) + LEAF_SIZE) {
        uint64_t stop = (at & ~(LEAF_SIZE - 1)) + LEAF_SIZE;

        spin_lock(&space->lock);
        paging_visit(&space->tables, at, stop < end ? stop : end, empty_entry, NULL);
        spin_unlock(&space->lock);
        slice_check();
    }
    space_release(space, &lock);
    return error > 0 ? -ENOMEM : error;
}
