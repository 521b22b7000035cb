/* Leases: ranges of a space that one kernel may change by itself. mm/lease/lease.md has the protocol. Functions with
 * _locked are called with space->lock held. */
#ifndef MM_LEASE_LEASE_H
#define MM_LEASE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/area.h"
#include "mm/area/range.h"
#include "mm/lease/map.h"
#include "mm/space/space.h"

/* Called without locks, perhaps in a handler: it must not wait. ERROR: 0 or -ENOMEM. */
typedef void (*lease_done)(void *context, int error);

struct lease_recall;

/* Registers the boot option leases= and the message handlers. Once. */
void lease_init(void);
void lease_begin(struct space *space);
/* Frees the leases of SPACE, which ends. No recall is under way, because each has a reference to its space. */
void lease_end(struct space *space);

/* --- any kernel --- */

/* True if an area with PROT and BACKING may be made in a lease. */
bool lease_may_have(uint32_t prot, uint64_t backing);
/* True if one lease of this kernel covers [START, END), so that no other kernel knows anything of it. */
static inline bool lease_has_locked(const struct space *space, uint64_t start, uint64_t end)
{
    const struct lease *lease;

    if (lease_map_empty(&space->leases.map))
        return false;
    lease = lease_map_find(&space->leases.map, start);
    return lease != NULL && lease->kernel == instance.kernel && end <= lease->end;
}
/* True if, besides, it may change the range by itself: no fork is reading it. */
static inline bool lease_covers_locked(const struct space *space, uint64_t start, uint64_t end)
{
    return lease_has_locked(space, start, end) && !space->leases.frozen;
}
/* A fork of SPACE begins to read what this kernel has leased: this kernel decides nothing there until
 * lease_thaw_locked, and does not use a lease that is on its way to it. Returns whether there may be something to read.
 */
bool lease_freeze_locked(struct space *space);
static inline void lease_thaw_locked(struct space *space)
{
    space->leases.frozen = false;
}
/* Returns the address of LENGTH free bytes in this kernel's leases, at HINT unless that is 0; 0: there are none. */
uint64_t lease_room_locked(const struct space *space, uint64_t hint, uint64_t length);
/* Obtains a lease with room for LENGTH bytes for this kernel. False: the home grants none. Tasks only: waits for the
 * home. */
bool lease_take(struct space *space, uint64_t length);

/* The memory for a lease that the answer to a fault may bring (mm/lease/empty.c), and back; NULL: none, or leases are
 * off. */
struct lease *lease_memory_locked(struct space *space);
void lease_memory_return_locked(struct space *space, struct lease *memory);
/* True if this kernel has no lease of any part of RANGE. */
bool lease_fits_locked(const struct space *space, struct space_range range);
/* Records the lease of RANGE, which fits, with MEMORY. */
void lease_note_locked(struct space *space, struct space_range range, struct lease *memory);

/* --- the home --- */

/* KERNEL touches PAGE of AREA, which has no frame; ENTRY is its entry, or NULL if there is no table. FIRST: KERNEL has
 * no entry in the table. True: the empty pages in RANGE, PAGE among them, may be leased to KERNEL. */
bool lease_empty_find_locked(struct space *space, uint32_t kernel, uint64_t page, const struct area *area,
                             const uint64_t *entry, bool first, struct space_range *range);
/* Leases RANGE, as found by that, to KERNEL: the home has no area there any more. False: no memory; unchanged. */
bool lease_empty_give_locked(struct space *space, uint32_t kernel, struct space_range range);
/* True if KERNEL has a lease of PAGE that nobody waits for. */
bool lease_is_of_locked(const struct space *space, uint64_t page, uint32_t kernel);
/* The home leases to itself the areas of which no other kernel has anything, if leases are allowed: when another kernel
 * is about to host the space for the first time, and when the lock of the whole space, for which all leases had to go,
 * is released. */
void lease_to_home_locked(struct space *space);
/* Returns the first lease of another kernel that overlaps [START, END), or NULL. May be called on any kernel; NULL on
 * one that is not the home. */
const struct lease *lease_others_locked(const struct space *space, uint64_t start, uint64_t end);
/* Returns the kernel of that lease, for the wait dump, or -1. */
int32_t lease_holder_locked(const struct space *space, struct space_range range);
/* Returns the start of the first lease of any kernel that overlaps [START, END), which may be below START; END: there
 * is none. */
uint64_t lease_lowest_locked(const struct space *space, uint64_t start, uint64_t end);
/* Shrinks [*START, *END), which contains the unleased PAGE, so that it ends at the nearest leases on both sides. */
void lease_clip_locked(const struct space *space, uint64_t page, uint64_t *start, uint64_t *end);
/* The home removes its own leases of the range, so that the range is shared. */
void lease_share_locked(struct space *space, uint64_t start, uint64_t end);
int lease_wait_some_locked(struct space *space, struct space_range range, lease_done done, void *context,
                           struct lease_recall **start);
/* Removes the home's own leases of RANGE. If other kernels have leases of a part of it, returns 1: the caller passes
 * *START, recalls that begin, to lease_recall after it has released the lock, and DONE is called when the recalls are
 * over. 0: there is nothing to wait for; -ENOMEM. */
static inline int lease_wait_locked(struct space *space, struct space_range range, lease_done done, void *context,
                                    struct lease_recall **start)
{
    *start = NULL;
    return lease_map_empty(&space->leases.map) ? 0 : lease_wait_some_locked(space, range, done, context, start);
}
void lease_recall(struct lease_recall *start);
/* Waits until no other kernel has a lease of RANGE. 0: there was none; 1: it has waited; -ENOMEM. Tasks only. */
int lease_await(struct space *space, struct space_range range);
/* The same for the range that FIND returns with space->lock held. FIND is called again after each recall, because it
 * may then find a larger range, until it returns false or no other kernel has a lease of the range. 0: space->lock is
 * held since that look, because a lease of empty pages may be granted as soon as it is not; -ENOMEM: it is not held. */
int lease_await_found(struct space *space,
                      bool (*find)(struct space *space, const void *context, struct space_range *range),
                      const void *context);

/* Whether a kernel may know memory that it has given up, and that is still recorded here as leased to it, because a
 * recall has run out of memory in between. It answers no questions about that; another recall brings the rest. */
bool lease_torn_locked(struct space *space);
/* For a fork that gets the lock of the whole space now: removes the home's own leases, and holds back all recalls, so
 * that the leases of other kernels stay as they are. False: a recall is under way, or awaited, or has torn a lease, and
 * leases have to be recalled as for any other lock. After lease_let_go_locked, lease_resume begins the recalls that
 * were held back; it is called without space->lock. */
bool lease_hold_locked(struct space *space);
static inline void lease_let_go_locked(struct space *space)
{
    space->leases.held = false;
}
void lease_resume(struct space *space);
/* The other kernels that have leases. */
kernel_set lease_holders_locked(const struct space *space);

/* KERNEL, no longer a member, has stopped: drops the leases that were granted to it and that it did not record. A home
 * that is the only member now drops its own, too: such a home makes areas of files anywhere without looking for leases,
 * and no file is ever in one. */
void lease_forget_locked(struct space *space, uint32_t kernel);

#endif
