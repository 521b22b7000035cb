/* Changes of an address space: map, unmap, protect, discard. See mm/retrieve/retrieval.md.
 *
 * A space that only this kernel hosts, and a range that this kernel has leased (mm/lease/lease.md), are changed in one
 * critical section if that does not take long. Otherwise this kernel locks the range, which excludes every fault and
 * every other change of it in the machine; the other members apply the change and answer, then this kernel applies it
 * (Popcorn thesis 5.7.5, which locks the whole space). An unmap has a second round, because a frame must not be freed
 * before no kernel maps it any more. mm/change/apply.c applies a change on one kernel, mm/change/message.c handles the
 * requests of other kernels. */
#include "mm/change/change.h"

#include "kernel/abi/errno.h"
#include "mm/change/again.h"
#include "mm/change/internal.h"
#include "mm/lease/lease.h"
#include "mm/lease/room.h"
#include "mm/lock/lock.h"
#include "mm/space/call_home.h"
#include "mm/space/entry.h"
#include "mm/space/limit.h"
#include "mm/space/question.h"
#include "msg/request/call.h"

/* The answers of kernels that are all to do the same. */
struct answers {
    int error;        /* a negative errno, or 1 if one answered other than 0 */
    kernel_set again; /* they had no memory */
};

static void note_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct answers *answers = context;

    if (length == -ENOMEM)
        answers->again |= 1ull << kernel;
    else if (length < 0)
        answers->error = length;
    else if (answers->error == 0 && length == (int)sizeof(struct msg_space_changed))
        answers->error = ((const struct msg_space_changed *)reply)->value != 0;
}

int64_t space_ask_home(struct space *space, const struct msg_space_change *change)
{
    const struct operation *operation = space_operation(change->operation);
    int64_t value;

    if (space->home != instance.kernel)
        return space_call_home(space, change);
    if (operation->recalls == NULL)
        return space_apply(space, change);
    value = lease_await_found(space, operation->recalls, change);
    if (value == 0) {
        value = space_apply_locked(space, change);
        spin_unlock(&space->lock);
    }
    return value;
}

static int space_apply_own(struct space *space, const struct msg_space_change *change)
{
    space_gets_await(space, space_change_range(change));
    return (int)space_apply(space, change);
}

int space_apply_others(struct space *space, kernel_set others, const struct msg_space_change *change, const char *why)
{
    struct answers answers = {0};

    msg_multicast(others & ~(1ull << space->home), change->operation, change, sizeof(*change), note_answer, &answers,
                  why, change->start);
    if (answers.error == 0 && answers.again != 0)
        answers.error = -ENOMEM;
    if (space->home != instance.kernel && answers.error == 0)
        answers.error = space_apply_own(space, change);
    return answers.error;
}

int space_apply_rest(struct space *space, kernel_set others, const struct msg_space_change *change, const char *why)
{
    struct answers answers = {.again = others & ~(1ull << space->home)};
    int own = space->home != instance.kernel ? -ENOMEM : 0;
    uint32_t tries = 0;

    do {
        kernel_set asked = answers.again;

        answers.again = 0;
        msg_multicast(asked, change->operation, change, sizeof(*change), note_answer, &answers, why, change->start);
        if (own == -ENOMEM)
            own = space_apply_own(space, change);
    } while ((answers.again != 0 || own == -ENOMEM) && space_try_again(&tries));
    if (answers.error < 0)
        return answers.error;
    return answers.again != 0 ? -ENOMEM : own != 0 ? own : answers.error;
}

/* The answers to the first round of a change that lets pages go. */
struct letting {
    kernel_set pending; /* kernels that have frames pending free */
    kernel_set again;   /* kernels that had no memory to split an area, and have changed nothing */
    kernel_set done;
    int error; /* a negative errno, or 1: part of the range of a discard is in no area, as the home says */
};

static void note_let_go(void *context, uint32_t kernel, const void *reply, int length)
{
    struct letting *letting = context;
    int64_t value = length == (int)sizeof(struct msg_space_changed)
                        ? (int64_t)((const struct msg_space_changed *)reply)->value
                        : 0;

    if (length == -ENOMEM)
        letting->again |= 1ull << kernel;
    else if (length < 0)
        letting->error = length;
    else
        letting->done |= 1ull << kernel;
    if (letting->error == 0 && (value & SPACE_HOLE) != 0)
        letting->error = 1;
    if ((value & SPACE_PENDING) != 0)
        letting->pending |= 1ull << kernel;
}

/* The second round is of the kernels that have frames to release. TRIES: those of the first round. */
static int settle(struct space *space, kernel_set pending, const struct msg_space_change *change, const char *why,
                  uint32_t *tries)
{
    struct answers answers = {.again = pending & ~(1ull << instance.kernel)};
    int own = (pending >> instance.kernel & 1) != 0 ? -ENOMEM : 0;

    do {
        kernel_set asked = answers.again;

        answers.again = 0;
        msg_multicast(asked, MSG_SPACE_SETTLE, change, sizeof(*change), note_answer, &answers, why, change->start);
        if (own == -ENOMEM)
            own = space_settle(space, change->start, change->start + change->length);
    } while ((answers.again != 0 || own == -ENOMEM) && space_try_again(tries));
    return answers.error != 0 ? answers.error : answers.again != 0 ? -ENOMEM : own;
}

/* The part of this kernel in the first round. */
static void let_go_here(struct space *space, const struct msg_space_change *change, struct letting *letting)
{
    int result = space_apply_own(space, change);
    struct msg_space_changed own = {(uint64_t)result};

    note_let_go(letting, instance.kernel, &own, result < 0 ? result : (int)sizeof(own));
}

int space_settle_everywhere(struct space *space, kernel_set others, const struct msg_space_change *change,
                            const char *why)
{
    struct msg_space_change last = *change;
    struct letting letting = {0};
    uint32_t tries = 0;
    int error;

    if (kernel_set_count(others) <= 1) /* it lets go when all others have, and needs no second round */
        last.prot |= SPACE_LAST;
    let_go_here(space, others != 0 ? change : &last, &letting); /* first: it may refuse */
    for (kernel_set asked = others; letting.error >= 0 && letting.done != 0 && asked != 0; asked = letting.again) {
        letting.again = 0;
        msg_multicast(asked, change->operation, &last, sizeof(last), note_let_go, &letting, why, change->start);
        if (letting.again != 0 && !space_try_again(&tries))
            break;
    }
    if (letting.error >= 0 && letting.again != 0)
        letting.error = -ENOMEM;
    if (letting.error < 0)
        return letting.error; /* nothing has changed; or no memory came back, and a repeated call completes it */
    error = settle(space, letting.pending, change, why, &tries);
    return error != 0 || letting.error == 0 ? error : -ENOMEM; /* as on Linux: the rest is done */
}

int space_unmap_everywhere(struct space *space, struct space_lock *lock, uint64_t start, uint64_t length)
{
    struct msg_space_change change = {
        .space = space->id, .start = start, .length = length, .operation = MSG_SPACE_UNMAP};
    int error = space_settle_everywhere(space, space_lock_others(space, lock), &change, "unmap");

    if (error != 0)
        lock->outcome = LOCK_FAILED;
    return error;
}

void space_count_change(struct space *space)
{
    spin_lock(&space->lock);
    space->stats.changes++;
    spin_unlock(&space->lock);
}

/* Unmaps what CHANGE, a SPACE_MAP, replaces, unless a limit of the process forbids the new area. */
static int64_t replace_locked(struct space *space, const struct msg_space_change *change)
{
    struct msg_space_change try = *change;
    int64_t result;

    try.map.how |= SPACE_MAP_TRY;
    result = space_apply_locked(space, &try);
    return result < 0 ? result : space_unmap_locked(space, change->start, change->length, SPACE_LAST);
}

bool space_change_alone(struct space *space, const struct msg_space_change *change, bool replace, int64_t *result)
{
    bool settles = (space_operation(change->operation)->flags & SETTLES) != 0, alone;
    uint32_t tries = 0;
    int error = 0;

    spin_lock(&space->lock);
    space_count_call_locked(space, change->operation);
    alone = space_decides_change_locked(space, change) &&
            ((change->operation == MSG_SPACE_MAP && !replace) ||
             !space_is_long_locked(space, change->start, change->start + change->length));
    if (alone) {
        space->at_once = true;
        int64_t before = replace ? replace_locked(space, change) : 0;

        *result = before >= 0 ? space_apply_locked(space, change) : before;
        if ((before > 0 && (before & SPACE_PENDING) != 0) || (settles && *result > 0 && (*result & SPACE_PENDING) != 0))
            error = space_settle_locked(space, change->start, change->start + change->length);
        if (settles && *result > 0) /* as on Linux: part of the range is not mapped, the rest is done */
            *result = (*result & SPACE_HOLE) != 0 ? -ENOMEM : 0;
        space->at_once = false;
    }
    spin_unlock(&space->lock);
    while (error == -ENOMEM && space_try_again(&tries)) /* the change itself is done */
        error = space_settle(space, change->start, change->start + change->length);
    return alone;
}

/* Makes the area of CHANGE in a lease of this kernel, taking a new lease if CHANGE names no address. 0: no room. */
static int64_t map_leased(struct space *space, const struct msg_space_change *change)
{
    int64_t result = 0;

    do {
        uint64_t start;

        spin_lock(&space->lock);
        start = lease_room_locked(space, change->start, change->length);
        if (start != 0)
            result = area_set_backed(&space->areas, start, start + change->length, change->prot & AREA_BITS,
                                     change->map.backing);
        spin_unlock(&space->lock);
        if (start != 0)
            return result != 0 ? result : (int64_t)start;
    } while (change->start == 0 && lease_take(space, change->length));
    return 0;
}

/* The home chooses a place that is in no area or lease and that no request for a lock overlaps; requests for the whole
 * space do not count. If such requests leave no room (-EAGAIN), this kernel locks the whole space: then no other task
 * holds a lock, and a task that waits for one finds the new area when it has it. The other members fetch the area when
 * they fault in it. */
static int64_t map_anywhere(struct space *space, struct msg_space_change *change)
{
    int64_t result = -EAGAIN;
    struct space_lock lock;

    if (space_ranges)
        result = space_ask_home(space, change);
    if (result != -EAGAIN)
        return result;
    result = space_acquire(space, SPACE_HEAVY, &lock);
    if (result != 0)
        return result;
    change->map.how |= SPACE_MAP_BUSY;
    result = space_ask_home(space, change);
    space_release(space, &lock);
    return result;
}

/* Recalls the leases below ADDRESS, where a growing area begins, so that no kernel maps anything there without asking
 * the home. */
static void reclaim_below(struct space *space, uint64_t address)
{
    struct msg_space_change change = {
        .space = space->id, .length = SPACE_STACK_MAX + SPACE_STACK_GAP, .operation = MSG_SPACE_RECLAIM};

    if (change.length > address)
        change.length = address;
    change.start = address - change.length;
    space_ask_home(space, &change); /* an error is ignored: the area may then find less room to grow */
}

/* Makes the area of CHANGE at its address, after unmapping what is there if REPLACE. */
static int64_t map_fixed(struct space *space, const struct msg_space_change *change, bool replace)
{
    struct space_lock lock;
    int64_t result = space_acquire(space, space_change_range(change), &lock);

    if (result != 0)
        return result;
    if (replace && (space->home == instance.kernel || (change->prot & SPACE_UNLIMITED) == 0)) {
        struct msg_space_change try = *change;

        try.map.how |= SPACE_MAP_TRY;
        result = space_ask_home(space, &try);
    }
    if (replace && result >= 0) {
        result = space_unmap_everywhere(space, &lock, change->start, change->length);
        space_lock_gone(&lock, space_change_range(change)); /* the new area is known at the home alone */
    }
    if (result == 0)
        result = space_ask_home(space, change);
    space_release(space, &lock);
    if (result > 0 && (change->prot & AREA_GROWS) != 0)
        reclaim_below(space, change->start);
    return result;
}

static int64_t map(struct space *space, uint64_t address, uint64_t length, uint32_t prot, uint32_t how,
                   uint64_t backing)
{
    bool fixed = (how & (SPACE_MAP_FIXED | SPACE_MAP_KEEP)) != 0, replace = (how & SPACE_MAP_KEEP) == 0;
    struct msg_space_change change = {.space = space->id,
                                      .start = address,
                                      .length = page_up(length),
                                      .operation = MSG_SPACE_MAP,
                                      .prot = prot | space_unlimited(),
                                      .map = {.how = how, .backing = backing}};
    int64_t result;

    if (length == 0)
        return -EINVAL;
    if (length > USER_END || (fixed && address > USER_END - change.length))
        return -ENOMEM;
    if (fixed && (address & (PAGE_SIZE - 1)) != 0)
        return -EINVAL;
    if (fixed && address < MAP_LOW)
        return -EPERM;
    if (!fixed) {
        change.start &= ~(PAGE_SIZE - 1);
        if (change.start > USER_END - change.length)
            change.start = 0;
        else if (change.start != 0 && change.start < MAP_LOW)
            change.start = MAP_LOW;
    }
    if (space_change_alone(space, &change, fixed && replace, &result))
        return result;
    if (how == 0 && lease_may_have(prot, backing) && space_commit_allowed(prot, change.length)) {
        result = map_leased(space, &change);
        if (result != 0)
            return result;
    }
    space_count_change(space);
    if (!fixed)
        return map_anywhere(space, &change);
    return map_fixed(space, &change, replace);
}

int64_t space_map(struct space *space, uint64_t address, uint64_t length, uint32_t prot, uint32_t how, uint64_t backing)
{
    int64_t result = map(space, address, length, prot, how, backing);

    if (result < 0 || (result & MAP_FILL) == 0)
        return result;
    space_map_fill(space, (uint64_t)result & ~MAP_FILL, length, prot);
    return result & ~(int64_t)MAP_FILL;
}

static int let_go_everywhere(struct space *space, const struct msg_space_change *change)
{
    struct space_lock lock;
    int error = space_acquire(space, space_change_range(change), &lock);

    if (error != 0)
        return error;
    space_count_change(space);
    error = space_settle_everywhere(space, space_lock_others(space, &lock), change, "unmap");
    if (change->operation == MSG_SPACE_UNMAP) {
        space_lock_gone(&lock, space_change_range(change));
        lock.outcome = error != 0 ? LOCK_FAILED : lock.outcome;
    }
    space_release(space, &lock);
    return error;
}

/* Performs CHANGE, an unmap or a discard, on this kernel alone or on all members. */
static inline __attribute__((always_inline)) int let_go(struct space *space, struct msg_space_change *change)
{
    int64_t result;

    change->prot = SPACE_LAST;
    if (space_change_alone(space, change, false, &result))
        return (int)result;
    change->prot = 0;
    return let_go_everywhere(space, change);
}

int space_unmap(struct space *space, uint64_t address, uint64_t length)
{
    struct msg_space_change change = {
        .space = space->id, .start = address, .length = page_up(length), .operation = MSG_SPACE_UNMAP};

    if (length == 0 || (address & (PAGE_SIZE - 1)) != 0 || !user_range(address, length))
        return -EINVAL;
    return let_go(space, &change);
}

int space_discard(struct space *space, uint64_t address, uint64_t length)
{
    struct msg_space_change change = {
        .space = space->id, .start = address, .length = page_up(length), .operation = MSG_SPACE_DISCARD};

    if ((address & (PAGE_SIZE - 1)) != 0 || length > USER_END)
        return -EINVAL;
    if (length == 0)
        return 0;
    if (!user_range(address, length))
        return -ENOMEM;
    return let_go(space, &change);
}

int64_t space_look(struct space *space, uint64_t address, enum space_look_at what)
{
    struct msg_space_change change = {.space = space->id,
                                      .start = address & ~(PAGE_SIZE - 1),
                                      .length = PAGE_SIZE,
                                      .operation = MSG_SPACE_LOOK,
                                      .look = {.what = what}};

    if (address >= USER_END)
        return -ENOMEM;
    return space_looks_at_page(&change) ? space_query(space, &change) : space_ask_home(space, &change);
}

static int protect_everywhere(struct space *space, const struct msg_space_change *change)
{
    struct space_lock lock;
    int error = space_acquire(space, space_change_range(change), &lock);

    if (error != 0)
        return error;
    space_count_change(space);
    error = (int)space_ask_home(space, change); /* first: the home has every area and refuses before any change */
    if (error == 0)
        error = space_apply_rest(space, space_lock_others(space, &lock), change, "protect");
    space_release(space, &lock);
    return error;
}

int space_protect(struct space *space, uint64_t address, uint64_t length, uint32_t prot)
{
    struct msg_space_change change = {
        .space = space->id, .start = address, .length = page_up(length), .operation = MSG_SPACE_PROTECT, .prot = prot};
    int64_t result;

    if ((address & (PAGE_SIZE - 1)) != 0)
        return -EINVAL;
    if (length == 0)
        return 0;
    if (!user_range(address, length))
        return -ENOMEM;
    return space_change_alone(space, &change, false, &result) ? (int)result : protect_everywhere(space, &change);
}
