/* madvise, mlock and mincore: flags of areas, which are set on all kernels; checks, which the home or the holder of a
 * lease makes; and pages that get frames before they are touched. */
#include "kernel/abi/errno.h"
#include "mm/area/backing.h"
#include "mm/change/again.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/fault/fault.h"
#include "mm/frame/content.h"
#include "mm/lease/decide.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/seen/mark.h"
#include "mm/space/call_home.h"
#include "mm/space/entry.h"
#include "mm/space/limit.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"

_Static_assert(((SPACE_UNLIMITED | SPACE_FILLS | SPACE_MARKS) & AREA_BITS) == 0, "a message's PROT has both");

/* --- on one kernel --- */

static uint32_t bits_of(const struct area *area)
{
    return area->prot | (backing_is_file(area->backing) ? AREA_BACKED : 0);
}

#define CHECKED_AT_ONCE 1024u /* areas that one SPACE_CHECK looks at */

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

/* Sets *COVERED to whether areas cover [START, END), which is locked, and returns whether one of them has one of the
 * BITS. In slices. */
static bool look_in_slices_locked(struct space *space, uint64_t start, uint64_t end, uint32_t bits, bool *covered)
{
    bool any = false;
    uint64_t stop;

    *covered = true;
    for (uint64_t at = start; at < end; at = stop) {
        if (at != start)
            space_pause_locked(space);
        stop = space_next_areas_locked(space, at, end);
        any = any || (bits != 0 && any_has_locked(space, at, stop, bits));
        *covered = *covered && area_covers(&space->areas, at, stop);
    }
    return any;
}

int64_t space_apply_check_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t end = change->start + change->length;
    uint32_t needed = change->check.needed, bits, count = 0;

    for (const struct area *area = area_next(&space->areas, change->start); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        if (++count > CHECKED_AT_ONCE) /* the asker continues: no pause, because the answer must be of one moment */
            return (int64_t)(area->start | (area_covers(&space->areas, change->start, area->start) ? 0 : 1));
        bits = bits_of(area);
        if ((bits & change->check.forbidden) != 0 || (needed & ~area->prot) != 0)
            return -EINVAL;
    }
    return area_covers(&space->areas, change->start, end) ? 0 : 1;
}

/* The bytes of areas in [START, END) that are locked, or with ANY of all areas there. */
static uint64_t bytes_locked(const struct space *space, uint64_t start, uint64_t end, bool any)
{
    uint64_t bytes = 0;

    for (const struct area *area = area_next(&space->areas, start); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        if (any || (area->prot & AREA_LOCKED) != 0)
            bytes += (area->end < end ? area->end : end) - (area->start > start ? area->start : start);
    }
    return bytes;
}

/* What CHANGE is going to lock: the areas of the whole space, or its range with its holes, without what is locked. */
static uint64_t to_lock_locked(struct space *space, const struct msg_space_change *change)
{
    bool all = change->start == 0 && change->length == USER_END;
    uint64_t end = change->start + change->length, more = 0, stop;

    for (uint64_t at = change->start; at < end; at = stop) {
        if (at != change->start)
            space_pause_locked(space);
        stop = space_next_areas_locked(space, at, end);
        more += (all ? bytes_locked(space, at, stop, true) : stop - at) - bytes_locked(space, at, stop, false);
    }
    return more;
}

/* Reserves the bytes that CHANGE is going to lock, so that changes made at once do not pass RLIMIT_MEMLOCK together.
 * -ENOLCK: they are too many. */
static int reserve_locked(struct space *space, const struct msg_space_change *change, uint64_t *reserved)
{
    uint64_t more = change->length;

    if (!space_may_lock_locked(space, change->prot, more))
        more = to_lock_locked(space, change);
    if (!space_may_lock_locked(space, change->prot, more))
        return -ENOLCK;
    space->locking += more;
    *reserved = more;
    return 0;
}

/* Locks the areas in [START, END) with what is reserved. What others have mapped there meanwhile, which the lock of the
 * whole space allows, is locked, too, even beyond the limit: the change must not stop half way. */
static int lock_reserved_locked(struct space *space, const struct msg_space_change *change, uint64_t start,
                                uint64_t end, uint64_t *reserved, struct area_spares *spares)
{
    uint64_t more = bytes_locked(space, start, end, true) - bytes_locked(space, start, end, false);
    uint64_t taken = more < *reserved ? more : *reserved;
    int error = area_flag_part(&space->areas, start, end, change->flag.set, change->flag.clear, spares);

    if (error == 0) {
        space->locking -= taken;
        *reserved -= taken;
    }
    return error;
}

/* Marks the pages of [START, END) that are elsewhere than the policy NUMBER wants them; 0: no policy. */
static void mark_range_locked(struct space *space, uint64_t start, uint64_t end, uint32_t number)
{
    uint64_t stop;

    for (uint64_t at = start; space_next_pages_locked(space, &at, end, LEAF_SIZE, &stop); at = stop) {
        if (at != start)
            space_pause_locked(space);
        mark_pages_locked(space, at, stop, number != 0 ? policy_known_locked(space, number) : NULL);
    }
}

int64_t space_apply_flag_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t end = change->start + change->length, reserved = 0;
    bool home = space->home == instance.kernel, covered = true, limited;
    struct area_spares spares = {NULL, NULL};
    int error = 0;

    limited = home && (change->flag.set & AREA_LOCKED) != 0 && (change->prot & SPACE_UNLIMITED) == 0;
    if (limited)
        error = reserve_locked(space, change, &reserved);
    if (change->flag.dry != 0) {
        space->locking -= reserved;
        return error != 0 ? error : (int64_t)space->later;
    }
    if (home || lease_has_locked(space, change->start, end)) { /* which has all areas */
        if (look_in_slices_locked(space, change->start, end, change->flag.forbidden, &covered))
            error = -EINVAL;
    }
    if (error == 0 && space_next_areas_locked(space, change->start, end) < end)
        error = area_spares_take(&spares, &space->areas, change->start, end);
    for (uint64_t at = change->start, stop = at; stop < end && error == 0;) {
        if (stop != change->start) {
            space_pause_locked(space);
            at = area_part_from(&space->areas, stop);
        }
        stop = space_next_areas_locked(space, at, end);
        error = limited ? lock_reserved_locked(space, change, at, stop, &reserved, &spares)
                        : area_flag_part(&space->areas, at, stop, change->flag.set, change->flag.clear, &spares);
    }
    area_spares_drop(&spares);
    space->locking -= reserved;
    if (error == 0 && (change->prot & SPACE_MARKS) != 0)
        mark_range_locked(space, change->start, end, change->flag.set >> AREA_POLICY_SHIFT);
    return error != 0 || covered ? error : 1;
}

int64_t space_apply_later_locked(struct space *space, const struct msg_space_change *change)
{
    space->later = change->prot & (AREA_LOCKED | SPACE_FILLS);
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
    int64_t result, hole = 0;

    while ((result = space_ask_who_knows(space, &change)) >= (int64_t)PAGE_SIZE) { /* there are many areas */
        uint64_t next = (uint64_t)result & ~(PAGE_SIZE - 1);

        if (next <= change.start || next >= end)
            return -EPROTO;
        hole |= result & 1;
        change.start = next;
        change.length = end - next;
        slice_check();
    }
    return (int)(result < 0 ? result : result | hole);
}

/* Performs CHANGE, a SPACE_FLAG, under the lock of its range. */
static int flag_locking(struct space *space, const struct msg_space_change *change)
{
    uint64_t start = change->start, end = start + change->length;
    /* a range that starts at 0 (mlockall) is locked by the whole-space lock, which lets others map meanwhile */
    struct space_range range = start == 0 ? SPACE_HEAVY : (struct space_range){start, end};
    struct space_lock lock;
    int error, covered;

    error = space_acquire(space, range, &lock);
    if (error != 0)
        return error;
    space_count_change(space);
    covered = (int)space_ask_home(space, change);
    error = covered < 0 ? covered : space_apply_rest(space, space_lock_others(space, &lock), change, "advice");
    space_release(space, &lock);
    return error != 0 ? error : covered;
}

int space_flag(struct space *space, uint64_t start, uint64_t end, uint32_t forbidden, uint32_t set, uint32_t clear)
{
    struct msg_space_change change = {.space = space->id,
                                      .start = start,
                                      .length = end - start,
                                      .operation = MSG_SPACE_FLAG,
                                      .prot = (set & AREA_LOCKED) != 0 ? space_unlimited() : 0,
                                      .flag = {.set = set, .clear = clear, .forbidden = forbidden}};
    int64_t result;

    /* what is locked is counted by the home, and a large page that it has given is large on all kernels */
    if ((space->home == instance.kernel || (set & (AREA_LOCKED | AREA_HUGE)) == 0) &&
        space_change_alone(space, &change, false, &result))
        return (int)result;
    return flag_locking(space, &change);
}

int space_set_policy(struct space *space, uint64_t start, uint64_t end, uint32_t number, bool marks)
{
    struct msg_space_change change = {.space = space->id,
                                      .start = start,
                                      .length = end - start,
                                      .operation = MSG_SPACE_FLAG,
                                      .prot = marks ? SPACE_MARKS : 0,
                                      .flag = {.set = number << AREA_POLICY_SHIFT, .clear = AREA_POLICY}};

    return flag_locking(space, &change); /* policies are numbered by the home */
}

/* LATER: what SPACE_LATER is to set. */
static int lock_later(struct space *space, uint32_t later)
{
    struct msg_space_change change = {
        .space = space->id, .length = PAGE_SIZE, .operation = MSG_SPACE_LATER, .prot = later};

    return (int)space_ask_home(space, &change);
}

/* Whether all areas may be locked, if CURRENT. Returns what SPACE_LATER has set, or -ENOLCK. */
static int64_t try_lock_all(struct space *space, bool current)
{
    struct msg_space_change change = {.space = space->id,
                                      .length = USER_END,
                                      .operation = MSG_SPACE_FLAG,
                                      .prot = current ? space_unlimited() : SPACE_UNLIMITED,
                                      .flag = {.set = AREA_LOCKED, .dry = 1}};
    struct space_lock lock;
    int64_t result = space_acquire(space, SPACE_HEAVY, &lock); /* recalls the leases: the home knows all areas */

    if (result != 0)
        return result;
    result = space_ask_home(space, &change);
    space_release(space, &lock);
    return result;
}

int space_lock_all(struct space *space, bool current, bool later, bool fill)
{
    int64_t before = try_lock_all(space, current);
    uint32_t tries = 0;
    int error;

    if (before < 0)
        return (int)before;
    /* first, so that nothing that is mapped meanwhile is left out */
    error = lock_later(space, later ? AREA_LOCKED | (fill ? SPACE_FILLS : 0) : 0);
    if (error == 0 && current)
        error = space_flag(space, 0, USER_END, 0, AREA_LOCKED, 0);
    /* no memory, or others have mapped more meanwhile: what is mapped from now on is as before */
    while (error < 0 && lock_later(space, (uint32_t)before) == -ENOMEM && space_try_again(&tries))
        ;
    return error > 0 ? 0 : error; /* not all addresses are in use */
}

int space_unlock_all(struct space *space)
{
    int error = lock_later(space, 0);

    if (error == 0)
        error = space_flag(space, 0, USER_END, 0, 0, AREA_LOCKED);
    return error > 0 ? 0 : error;
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

/* Translates an error of space_touch: -EFAULT behind the end of an object, -EHWPOISON for a lost page, or
 * -EFAULT with BEST; else -ENOMEM, also when the area has changed. */
static int fill_error(int error, enum space_fill how)
{
    if (error == -ENXIO)
        return -EFAULT;
    if (error == -EHWPOISON)
        return how == SPACE_FILL_BEST ? -EFAULT : error;
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
            error = fill_error(space_touch(space, start, stop, access), how);
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
        return error == -EFAULT ? -ENOMEM : error == -EHWPOISON ? -EFAULT : error;
    /* again: the areas may have changed */
    error = space_check(space, start, end, AREA_LOCKED | AREA_BACKED, AREA_SHARED);
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

/* Whether the pages of [START, END) are those of one area of a file, and if CHANGES, one that is shared, may be written
 * and is not locked; *BACKING is the first's then. The caller has locked the range. */
static bool is_file(struct space *space, uint64_t start, uint64_t end, bool changes, uint64_t *backing)
{
    int64_t area = space_look(space, start, SPACE_LOOK_THERE);
    int64_t found = area < 0 ? 0 : space_look(space, start, SPACE_LOOK_BACKING);

    *backing = (uint64_t)found;
    return found > 0 && ((uint64_t)area & ~(PAGE_SIZE - 1)) >= end &&
           (!changes ||
            ((*backing & BACKING_READ_ONLY) == 0 && ((uint64_t)area & (AREA_SHARED | AREA_LOCKED)) == AREA_SHARED));
}

int space_on_file(struct space *space, uint64_t start, uint64_t end, bool changes,
                  int (*act)(uint64_t backing, uint64_t pages, void *context), void *context)
{
    struct space_range range = {start, end};
    struct space_lock lock;
    uint64_t backing;
    int error = space_acquire(space, range, &lock);

    if (error != 0)
        return error;
    error = is_file(space, start, end, changes, &backing) ? act(backing, (end - start) / PAGE_SIZE, context) : -EAGAIN;
    space_release(space, &lock);
    return error;
}
