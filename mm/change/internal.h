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

/* SPACE_CHECK, SPACE_FLAG, SPACE_RESIDENT, SPACE_LATER. */
int64_t space_apply_advice_locked(struct space *space, const struct msg_space_change *change);
/* At the home: SPACE_BREAK. */
int64_t space_apply_break_locked(struct space *space, const struct msg_space_change *change);
/* On every kernel, one after the other: SPACE_PREPARE and then SPACE_MOVE or SPACE_CANCEL. */
int64_t space_apply_move_locked(struct space *space, const struct msg_space_change *change);

/* CHANGE on this kernel alone, and the end of what it has put in limbo (-ENOMEM: frames of other kernels are left, for
 * there is no memory to tell the owners). */
int64_t space_apply_locked(struct space *space, const struct msg_space_change *change);
int space_settle_locked(struct space *space, uint64_t start, uint64_t end);
/* The same with the lock free. */
int64_t space_apply(struct space *space, const struct msg_space_change *change);
int space_settle(struct space *space, uint64_t start, uint64_t end);
/* Areas and entries of the range go; what is owned is in limbo then. -ENOMEM: nothing has happened. */
int space_unmap_locked(struct space *space, uint64_t start, uint64_t length);
/* This kernel has a lease of the range of CHANGE, and what is to be there may be in one: places are found by
 * lease_room_locked. */
bool space_leased_change_locked(const struct space *space, const struct msg_space_change *change);
/* It may make CHANGE by itself. */
static inline bool space_decides_change_locked(const struct space *space, const struct msg_space_change *change)
{
    return space_alone_locked(space) || space_leased_change_locked(space, change);
}
/* At the home, for a task: what others have leased, and CHANGE needs to know, is recalled. 0 or -ENOMEM. Waits. */
int space_recall_for(struct space *space, const struct msg_space_change *change);
/* The range is locked. CHANGE on this kernel; and on all but the home. 0 or an errno. They wait. */
int space_apply_own(struct space *space, const struct msg_space_change *change);
int space_apply_others(struct space *space, const struct msg_space_change *change, const char *why);
/* The range is locked: everyone lets go of it by OPERATION, SPACE_UNMAP or SPACE_DISCARD; then the references are let
 * go of. Waits. */
int space_unmap_everywhere(struct space *space, uint64_t start, uint64_t length, uint32_t operation);
void space_count_change(struct space *space);

#endif
