/* What the files of mm/change share. */
#ifndef MM_CHANGE_INTERNAL_H
#define MM_CHANGE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/lease/decide.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

#define MAP_FILL 1ull /* beside the address of a new area: it is to be filled */

/* The ranges are locked, and every page of [FROM, FROM + LENGTH), which is shared, is mapped here: makes [TO, TO +
 * ROOM) an area with PROT whose first pages have the same frames. -EAGAIN: one page is not mapped here; -EEXIST:
 * something is at TO; -ENOMEM. Waits. */
int space_duplicate(struct space *space, uint64_t from, uint64_t length, uint64_t to, uint64_t room, uint32_t prot);

/* What one kernel does, with space->lock held: what the operation answers, or a negative errno. */
typedef int64_t operation_apply(struct space *space, const struct msg_space_change *change);

/* An operation on a space: a row of mm/change/operations.c. */
struct operation {
    operation_apply *apply;
    /* Asked without a lock, it needs to know what others have leased: the home recalls what this says, for
     * lease_await_found. NULL: the caller has the lock, whose grant has recalled it. */
    bool (*recalls)(struct space *space, const void *change, struct space_range *range);
    uint16_t flags;   /* enum operation_flag */
    uint16_t counted; /* where in struct space_stats calls are counted */
};
enum operation_flag {
    AT_HOME = 1,     /* the home does it; else every member, and where none has arrived yet there is nothing to do */
    PUT_OFF = 2,     /* in a message: until the answers to faults in the range that are under way are here */
    SETTLES = 4,     /* frames are pending free then, and SPACE_SETTLE follows; where it answers 1 that is -ENOMEM in
                      * the end, as on Linux: a part is in no area, and the rest is done */
    NO_RANGE = 8,    /* START and LENGTH are not looked at */
    TWO_PLACES = 16, /* the new one is to be valid, too */
    FROM_HOME = 32   /* nobody else may ask for it */
};

#define SPACE_OPERATIONS MSG_SPACE_MAP /* the first type, and the one behind the last */
#define SPACE_OPERATIONS_END (MSG_SPACE_REVOKE + 1)
extern const struct operation space_operations[];

/* The row of message TYPE. */
static inline const struct operation *space_operation(uint32_t type)
{
    return &space_operations[type - SPACE_OPERATIONS];
}
/* A program has called for what TYPE does. */
void space_count_call_locked(struct space *space, uint32_t type);

operation_apply space_apply_map_locked, space_apply_unmap_locked, space_apply_protect_locked, space_apply_break_locked;
operation_apply space_apply_write_protect_locked, space_apply_discard_locked, space_apply_revoke_locked;
operation_apply space_apply_look_locked, space_apply_room_locked, space_apply_nothing_locked;
operation_apply space_apply_prepare_locked, space_apply_move_locked, space_apply_cancel_locked;
operation_apply space_apply_check_locked, space_apply_flag_locked, space_apply_resident_locked;
operation_apply space_apply_later_locked, space_apply_strategy_locked, space_apply_fence_locked;

/* CHANGE on this kernel alone, and the end of what is pending free after it (-ENOMEM: frames of other kernels are left,
 * for there is no memory to tell the owners). */
static inline int64_t space_apply_locked(struct space *space, const struct msg_space_change *change)
{
    return space_operation(change->operation)->apply(space, change);
}
int space_settle_locked(struct space *space, uint64_t start, uint64_t end);
/* The same with the lock free. */
int64_t space_apply(struct space *space, const struct msg_space_change *change);
int space_settle(struct space *space, uint64_t start, uint64_t end);
/* Areas and entries of the range go; what is owned is pending free then. -ENOMEM: nothing has happened. */
int space_unmap_locked(struct space *space, uint64_t start, uint64_t length);
/* This kernel has a lease of the range of CHANGE, and what is to be there may be in one: places are found by
 * lease_room_locked. */
bool space_leased_change_locked(const struct space *space, const struct msg_space_change *change);
/* It may make CHANGE by itself. */
static inline bool space_decides_change_locked(const struct space *space, const struct msg_space_change *change)
{
    return space_alone_locked(space) || space_leased_change_locked(space, change);
}
/* SPACE_LOOK is about what a shmat has mapped. */
bool space_looks_attached(const struct msg_space_change *change);
/* The range is locked. CHANGE on this kernel; and on all but the home. 0 or an errno. They wait. */
int space_apply_own(struct space *space, const struct msg_space_change *change);
int space_apply_others(struct space *space, const struct msg_space_change *change, const char *why);
/* The range is locked: everyone does CHANGE, one that settles; then the references are let go of. Waits. */
int space_settle_everywhere(struct space *space, const struct msg_space_change *change, const char *why);
/* The same of an unmap. */
int space_unmap_everywhere(struct space *space, uint64_t start, uint64_t length);
void space_count_change(struct space *space);

#endif
