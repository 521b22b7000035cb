/* The table of operations on a space: for each, the function that performs it on one kernel, which kernels perform it,
 * and which steps precede and follow. msg/messages.def says what each operation does. */
#include <stddef.h>

#include "mm/change/internal.h"
#include "mm/fault/grow.h"
#include "mm/fault/still.h"
#include "mm/space/call_home.h"

/* --- the ranges whose leases the home recalls before it performs an operation --- */

static bool recalls_range(struct space *space, const void *change, struct space_range *range)
{
    (void)space;
    *range = space_change_range(change);
    return true;
}

/* SPACE_RECLAIM: if the rest of a recalled lease is missing here, it may be the asker's, who does not know that. */
static bool recalls_torn(struct space *space, const void *change, struct space_range *range)
{
    *range = lease_torn_locked(space) ? (struct space_range){0, USER_END} : space_change_range(change);
    return true;
}

/* A look-up may return the end or the start of an area, and the area may continue in a lease of another kernel next to
 * it: so the range is that of the area and one page more on both sides. */
static bool recalls_look(struct space *space, const void *context, struct space_range *range)
{
    const struct msg_space_change *change = context;
    const struct area *area = area_find(&space->areas, change->start);

    if (space_looks_attached(change) || space_looks_at_page(change) || change->look.what == SPACE_LOOK_BACKING)
        return false; /* an area with an object behind it is never in a lease */
    *range = space_change_range(change);
    if (area != NULL) {
        range->start = area->start > PAGE_SIZE ? area->start - PAGE_SIZE : 0;
        range->end = area->end + PAGE_SIZE;
    }
    if (change->look.what != SPACE_LOOK_THERE) /* the answer may be the first area above START */
        range->end = USER_END;
    return true;
}

static bool recalls_later(struct space *space, const void *context, struct space_range *range)
{
    const struct msg_space_change *change = context;

    space->later = change->prot & (AREA_LOCKED | SPACE_FILLS); /* while this is set, the home grants no leases */
    *range = (struct space_range){0, USER_END};
    return true;
}

#define COUNTED(event) offsetof(struct space_stats, event)

/* Some operations of members have neither PUT_OFF nor a recall: SPACE_MOVE and SPACE_CANCEL follow SPACE_PREPARE, after
 * which no answer is under way; SPACE_REPLACE and SPACE_WRITABLE follow SPACE_STILL, and supersede what has been asked
 * since; the answers to faults do not matter to SPACE_FENCE, nor to SPACE_STRATEGY: only while the home knows the pages
 * may an answer make a copy (mm/page/replica.h), and the mode is changed before the copies are dropped. */
/* Index of an operation: its distance from the first type; all types are below twice the first. */
#define ROW(name) [MSG_SPACE_##name % SPACE_OPERATIONS]
const struct operation space_operations[] = {
    ROW(MAP) = {space_apply_map_locked, NULL, AT_HOME | PUT_OFF, COUNTED(maps)},
    ROW(UNMAP) = {space_apply_unmap_locked, NULL, PUT_OFF | SETTLES | WALKS, COUNTED(unmaps)},
    ROW(PROTECT) = {space_apply_protect_locked, NULL, PUT_OFF | WALKS, COUNTED(protects)},
    ROW(BREAK) = {space_apply_break_locked, NULL, AT_HOME | NO_RANGE, COUNTED(breaks)},
    ROW(WRITE_PROTECT) = {space_apply_write_protect_locked, NULL, PUT_OFF | WALKS, 0},
    ROW(DISCARD) = {space_apply_discard_locked, NULL, PUT_OFF | SETTLES | WALKS, COUNTED(discards)},
    ROW(GROWTH) = {space_apply_growth_locked, space_growth_recalls_locked, AT_HOME, 0},
    ROW(GROW) = {space_apply_growth_locked, NULL, AT_HOME | PUT_OFF, 0},
    ROW(LOOK) = {space_apply_look_locked, recalls_look, OF_LEASE, 0},
    ROW(ROOM) = {space_apply_room_locked, NULL, AT_HOME | PUT_OFF, 0},
    ROW(PREPARE) = {space_apply_prepare_locked, NULL, PUT_OFF | TWO_PLACES | WALKS, 0},
    ROW(MOVE) = {space_apply_move_locked, NULL, TWO_PLACES | WALKS, COUNTED(remaps)},
    ROW(CANCEL) = {space_apply_cancel_locked, NULL, TWO_PLACES | WALKS, 0},
    ROW(CHECK) = {space_apply_check_locked, recalls_range, AT_HOME, 0},
    ROW(FLAG) = {space_apply_flag_locked, NULL, PUT_OFF | WALKS, 0},
    ROW(LATER) = {space_apply_later_locked, recalls_later, AT_HOME, 0},
    ROW(RECLAIM) = {space_apply_nothing_locked, recalls_torn, AT_HOME, 0},
    ROW(STRATEGY) = {space_apply_strategy_locked, NULL, FROM_HOME | WALKS, 0},
    ROW(FENCE) = {space_apply_fence_locked, NULL, 0, 0},
    ROW(REVOKE) = {space_apply_revoke_locked, NULL, PUT_OFF | SETTLES | WALKS, 0},
    ROW(STILL) = {space_apply_still_locked, NULL, PUT_OFF, 0},
    ROW(REPLACE) = {space_apply_replace_locked, NULL, 0, 0},
    ROW(WRITABLE) = {space_apply_writable_locked, NULL, 0, 0},
};

_Static_assert(SPACE_OPERATIONS + sizeof(space_operations) / sizeof(space_operations[0]) == SPACE_OPERATIONS_END,
               "each has a row");

void space_count_call_locked(struct space *space, uint32_t type)
{
    uint16_t counted = space_operation(type)->counted; /* 0, which is faults_local's: in no counter of calls */

    if (counted != 0)
        ++*(uint64_t *)((uint8_t *)&space->stats + counted);
}
