/* mremap: mappings that are resized, moved, or mapped at a second place. mm/change/remap.md has the protocol.
 *
 * The caller looks the area up at the home without a lock, locks all that may change as one range, and looks again. If
 * the area has changed in between, it starts again. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "mm/area/backing.h"
#include "mm/change/again.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/fault/fault.h"
#include "mm/lease/room.h"
#include "mm/lock/lock.h"
#include "mm/space/entry.h"
#include "mm/space/limit.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/slice.h"

#define MAYMOVE 1u
#define FIXED 2u
#define DONTUNMAP 4u
/* Two places that are farther apart than this are locked by the lock of the whole space, which lets others map
 * meanwhile; a locked range would keep all that lies between them from being mapped. */
#define NEAR (64ull << 20)
#define STAND_BACK 1000ull    /* ns */
#define STAND_BACK_DOUBLED 8u /* the most times that it is doubled */

struct remap {
    struct space *space;
    uint64_t from, old_length, new_length;
    uint64_t to;  /* the new place */
    uint64_t end; /* of the area that contains FROM */
    uint32_t flags, prot;
};

/* Sets END and PROT from the area that contains FROM. -EFAULT: there is none; -ENOMEM. */
static int look(struct remap *r)
{
    int64_t found = space_look(r->space, r->from, SPACE_LOOK_THERE);

    if (found < 0)
        return (int)found;
    r->end = (uint64_t)found & ~(PAGE_SIZE - 1);
    r->prot = (uint32_t)((uint64_t)found & (PAGE_SIZE - 1)) & ~AREA_MOVING;
    return 0;
}

/* -EINVAL: an old length of 0 needs a shared mapping; -EFAULT: the area ends before the old range does. */
static int check_old(const struct remap *r)
{
    if (r->old_length == 0 && (r->prot & AREA_SHARED) == 0)
        return -EINVAL;
    return r->old_length > r->end - r->from ? -EFAULT : 0;
}

/* Under the lock: -EAGAIN: the area's protection or flags have changed. */
static int look_again(struct remap *r)
{
    uint32_t prot = r->prot;
    int error = look(r);

    if (error == 0)
        error = check_old(r);
    return error == 0 && r->prot != prot ? -EAGAIN : error;
}

/* The range to lock for LENGTH bytes at the old place and all of the new one. */
static struct space_range cover(const struct remap *r, uint64_t length)
{
    uint64_t low = r->from < r->to ? r->from : r->to;
    uint64_t high = r->from + length > r->to + r->new_length ? r->from + length : r->to + r->new_length;

    return high - low > length + r->new_length + NEAR ? SPACE_HEAVY : (struct space_range){low, high};
}

/* Extends the area in place by NEW_LENGTH - OLD_LENGTH bytes. -EEXIST: there is no room behind it. */
static int64_t extend(struct remap *r)
{
    struct msg_space_change map = {.space = r->space->id,
                                   .start = r->from + r->old_length,
                                   .length = r->new_length - r->old_length,
                                   .operation = MSG_SPACE_MAP,
                                   .prot = r->prot | space_unlimited(),
                                   .map = {.how = SPACE_MAP_KEEP | SPACE_MAP_GOES_ON}};
    struct space_range range = {r->from, r->from + r->new_length};
    struct space_lock lock;
    int64_t result = space_acquire(r->space, range, &lock);

    if (result != 0)
        return result;
    result = look_again(r);
    if (result == 0 && r->end != map.start)
        result = -EEXIST;
    if (result == 0)
        result = space_ask_home(r->space, &map);
    space_release(r->space, &lock);
    return result < 0 ? result : (int64_t)r->from; /* MAP_FILL is ignored: space_remap fills a locked area */
}

static int let_target_go(const struct remap *r, struct space_lock *lock)
{
    return (r->flags & FIXED) != 0 ? space_unmap_everywhere(r->space, lock, r->to, r->new_length) : 0;
}

/* Both places are locked. -EEXIST: the new place is not free. */
static int move_locked(const struct remap *r, struct space_lock *lock)
{
    struct msg_space_change change = {.space = r->space->id,
                                      .start = r->from,
                                      .length = r->old_length,
                                      .operation = MSG_SPACE_PREPARE,
                                      .prot = r->prot | ((r->flags & DONTUNMAP) != 0 ? AREA_MOVING : 0) |
                                              space_unlimited(),
                                      .move = {.to = r->to, .room = r->new_length}};
    kernel_set others = space_lock_others(r->space, lock);
    uint32_t tries = 0;
    int error = let_target_go(r, lock);

    if (error == 0)
        error = (int)space_ask_home(r->space, &change); /* first: only the home knows whether the new place is free */
    if (error != 0)
        return error;
    error = space_apply_others(r->space, others, &change, "preparing a move");
    change.operation = error == 0 ? MSG_SPACE_MOVE : MSG_SPACE_CANCEL;
    space_apply_rest(r->space, others, &change, "move"); /* no kernel refuses a move or a cancel */
    while (space_ask_home(r->space, &change) == -ENOMEM && space_try_again(&tries))
        ;
    return error;
}

static int move(struct remap *r)
{
    struct space_range range = cover(r, r->old_length);
    struct space_lock lock;
    int error = space_acquire(r->space, range, &lock);

    if (error != 0)
        return error;
    space_count_change(r->space);
    error = look_again(r);
    if (error == 0)
        error = move_locked(r, &lock);
    space_release(r->space, &lock);
    return error;
}

/* Maps the same pages of the same file at the new place: that only needs an area. */
static int duplicate_file(struct remap *r, uint64_t backing)
{
    struct msg_space_change map = {.space = r->space->id,
                                   .start = r->to,
                                   .length = r->new_length,
                                   .operation = MSG_SPACE_MAP,
                                   .prot = r->prot | space_unlimited(),
                                   .map = {.how = SPACE_MAP_KEEP, .backing = backing}};
    int64_t result = space_ask_home(r->space, &map);

    return result < 0 ? (int)result : 0;
}

/* Sets *BACKING to what is behind the old place. */
static int look_backing(const struct remap *r, uint64_t *backing)
{
    int64_t file = space_look(r->space, r->from, SPACE_LOOK_BACKING);
    int64_t name = file == 0 ? space_look(r->space, r->from, SPACE_LOOK_ANONYMOUS) : 0;

    *backing = file > 0 ? (uint64_t)file : name > 0 ? BACKING_ANONYMOUS | (uint64_t)name : BACKING_NONE;
    return file < 0 ? (int)file : name < 0 ? (int)name : 0;
}

/* Maps a shared area at its new place, too, and keeps the old one. */
static int duplicate(struct remap *r)
{
    uint64_t length = r->new_length < r->end - r->from ? r->new_length : r->end - r->from;
    struct space_range range = cover(r, length);
    uint64_t backing, again;
    struct space_lock lock;
    int error = look_backing(r, &backing);

    if (backing_is_anonymous(backing) && length > backing_left(backing) * PAGE_SIZE)
        length = backing_left(backing) * PAGE_SIZE; /* the rest has no pages */
    if (error == 0 && !backing_is_file(backing))
        error = space_touch(r->space, r->from, r->from + length, 0); /* so that this kernel has every page */
    if (error == -EHWPOISON)
        return -EFAULT;
    if (error != 0)
        return error;
    error = space_acquire(r->space, range, &lock);
    if (error != 0)
        return error;
    space_count_change(r->space);
    error = look_again(r);
    if (error == 0)
        error = look_backing(r, &again);
    if (error == 0 && (r->from + length > r->end || again != backing))
        error = -EAGAIN; /* the area has changed since */
    if (error == 0)
        error = let_target_go(r, &lock);
    if (error == 0 && backing_is_file(backing))
        error = duplicate_file(r, backing);
    else if (error == 0)
        error = space_duplicate(r->space, &lock, r->from, length, r->to, r->new_length, r->prot, backing);
    space_release(r->space, &lock);
    return error;
}

/* Moves or duplicates the mapping to TO if FIXED is set, else to a place that the home chooses, at HINT if possible. */
static int64_t relocate(struct remap *r, uint64_t hint)
{
    struct msg_space_change room = {
        .space = r->space->id, .start = hint, .length = r->new_length, .operation = MSG_SPACE_ROOM};
    bool two = (r->prot & AREA_SHARED) != 0 && (r->old_length == 0 || (r->flags & DONTUNMAP) != 0);
    int error;

    if ((r->flags & FIXED) == 0) {
        int64_t place = space_ask_home(r->space, &room);

        if (place < 0)
            return place;
        r->to = (uint64_t)place;
    }
    error = two ? duplicate(r) : move(r);
    if (error == -EEXIST)
        error = -EAGAIN; /* another task has mapped something there */
    return error != 0 ? error : (int64_t)r->to;
}

/* Remaps with FIXED or DONTUNMAP. */
static int64_t remap_to(struct remap *r, uint64_t new_address)
{
    uint64_t cut = r->old_length > r->new_length ? r->old_length - r->new_length : 0;
    int error = cut != 0 ? space_unmap(r->space, r->from + r->new_length, cut) : 0;

    if (error != 0)
        return error;
    r->old_length -= cut;
    error = check_old(r);
    if (error != 0)
        return error;
    r->to = new_address;
    return relocate(r, new_address);
}

static bool remap_to_valid(const struct remap *r, uint64_t new_address)
{
    return (new_address & (PAGE_SIZE - 1)) == 0 && r->new_length <= USER_END &&
           new_address <= USER_END - r->new_length &&
           (r->from + r->old_length <= new_address || new_address + r->new_length <= r->from);
}

static int64_t remap_once(struct remap *r, uint64_t new_address)
{
    int64_t result = look(r);

    if (result != 0)
        return result;
    if ((r->flags & (FIXED | DONTUNMAP)) != 0) {
        if (!remap_to_valid(r, new_address))
            return -EINVAL;
        if ((r->flags & FIXED) != 0 && new_address < MAP_LOW)
            return -EPERM;
        return remap_to(r, new_address & ~(PAGE_SIZE - 1));
    }
    if (r->old_length >= r->new_length) {
        uint64_t cut = r->old_length - r->new_length;

        result = cut != 0 ? space_unmap(r->space, r->from + r->new_length, cut) : 0;
        return result != 0 ? result : (int64_t)r->from;
    }
    result = check_old(r);
    if (result != 0)
        return result;
    if (r->new_length > USER_END)
        return -ENOMEM;
    if (r->old_length == r->end - r->from && r->new_length <= USER_END - r->from) {
        result = extend(r);
        if (result != -EEXIST)
            return result;
    }
    return (r->flags & MAYMOVE) != 0 ? relocate(r, 0) : -ENOMEM;
}

/* Another task may change the mapping between our two looks each time; if both retry at the same pace, this never ends.
 * So a task waits for a random time before it retries, up to a limit that doubles with each try (as senders on a shared
 * wire: Metcalfe and Boggs, "Ethernet", 1976). It takes messages meanwhile. */
static void stand_back(uint32_t tries)
{
    uint64_t most = STAND_BACK << (tries < STAND_BACK_DOUBLED ? tries : STAND_BACK_DOUBLED);
    uint64_t until = clock_now() + (rdtsc_unordered() * 0x9e3779b97f4a7c15ull >> 32) % most;

    while (clock_now() < until) {
        slice_pause();
        cpu_relax();
    }
}

int64_t space_remap(struct space *space, uint64_t address, uint64_t old_length, uint64_t new_length, uint64_t flags,
                    uint64_t new_address)
{
    struct remap r = {.space = space, .from = address};
    uint32_t tries = 0;
    int64_t result;

    if ((flags & ~(uint64_t)(MAYMOVE | FIXED | DONTUNMAP)) != 0)
        return -EINVAL;
    if ((flags & (FIXED | DONTUNMAP)) != 0 && (flags & MAYMOVE) == 0)
        return -EINVAL;
    if ((flags & DONTUNMAP) != 0 && old_length != new_length)
        return -EINVAL;
    if ((address & (PAGE_SIZE - 1)) != 0 || page_up(new_length) == 0)
        return -EINVAL;
    if (address >= USER_END)
        return -EFAULT;
    spin_lock(&space->lock);
    space_count_call_locked(space, MSG_SPACE_MOVE);
    spin_unlock(&space->lock);
    r.flags = (uint32_t)flags;
    do {
        if (tries++ > 0)
            stand_back(tries);
        r.old_length = page_up(old_length);
        r.new_length = page_up(new_length);
        result = remap_once(&r, new_address);
    } while (result == -EAGAIN);
    if (result > 0 && (r.prot & AREA_LOCKED) != 0 && r.new_length > r.old_length)
        space_map_fill(space, (uint64_t)result + r.old_length, r.new_length - r.old_length, r.prot);
    return result;
}
