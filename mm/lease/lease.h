/* Leases: ranges of a space that one kernel may change by itself. mm/lease/lease.md has the protocol. */
#ifndef MM_LEASE_LEASE_H
#define MM_LEASE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/area.h"
#include "mm/area/range.h"
#include "mm/lease/map.h"
#include "mm/space/space.h"

/* In a handler, or a task, without locks: it must not wait. ERROR: 0 or -ENOMEM. */
typedef void (*lease_done)(void *context, int error);

struct lease_wait;

/* Boot option leases=, and the messages. Once. */
void lease_init(void);
void lease_begin(struct space *space);
/* SPACE ends; no recall is under way: each has a reference. */
void lease_end(struct space *space);

/* --- any kernel --- */

/* True when an area with PROT and BACKING may be made in a lease. */
bool lease_may_have(uint32_t prot, uint64_t backing);
/* This kernel may change [START, END) by itself. */
static inline bool lease_covers_locked(const struct space *space, uint64_t start, uint64_t end)
{
    const struct lease *lease;

    if (lease_map_empty(&space->leases.map))
        return false;
    lease = lease_map_find(&space->leases.map, start);
    return lease != NULL && lease->kernel == instance.kernel && end <= lease->end;
}
/* Room for LENGTH bytes in this kernel's leases, at HINT if that is not 0; 0: there is none. */
uint64_t lease_room_locked(const struct space *space, uint64_t hint, uint64_t length);
/* A lease with room for LENGTH bytes, if this kernel may have one; then true. Tasks only: it waits for the home. */
bool lease_take(struct space *space, uint64_t length);

/* --- the home --- */

/* Makes a lease for KERNEL with room for LENGTH bytes; its start, or 0. */
uint64_t lease_grant_locked(struct space *space, uint32_t kernel, uint64_t length);
/* Another kernel is about to host the space, for the first time: the home leases existing areas to itself, where leases
 * are allowed. */
void lease_begin_sharing_locked(struct space *space);
/* The first lease of another kernel that has a part of [START, END), or NULL; also on a kernel that is not the home. */
const struct lease *lease_others_locked(const struct space *space, uint64_t start, uint64_t end);
/* Its kernel, for the wait dump, or -1. */
int32_t lease_holder_locked(const struct space *space, struct space_range range);
/* Where the first lease, whoever's, of a part of [START, END) begins; END: there is none. */
uint64_t lease_lowest_locked(const struct space *space, uint64_t start, uint64_t end);
/* Cuts [*START, *END), which contains PAGE, which is not leased, at the nearest leases on both sides. */
void lease_clip_locked(const struct space *space, uint64_t page, uint64_t *start, uint64_t *end);
/* The home gives up what it has leased of the range itself. */
void lease_share_locked(struct space *space, uint64_t start, uint64_t end);
/* The home gives up its own of RANGE. What others have of it is to be recalled: then 1, DONE is called when it is over,
 * and *START goes to lease_recall, without locks. 0: there is nothing to wait for; -ENOMEM. */
int lease_wait_locked(struct space *space, struct space_range range, lease_done done, void *context,
                      struct lease_wait **start);
void lease_recall(struct lease_wait *start);
/* Until no other kernel has a lease of RANGE. 0: none had; 1: it has waited; -ENOMEM. Tasks only; waits. */
int lease_await(struct space *space, struct space_range range);
/* The same for what FIND says with space->lock held, which may be more when something has been recalled, until it says
 * false, or nobody has a lease of it. 0 or -ENOMEM. */
int lease_await_found(struct space *space,
                      bool (*find)(struct space *space, const void *context, struct space_range *range),
                      const void *context);

/* KERNEL has stopped: drops the leases that were granted to it without its knowledge. */
void lease_forget_locked(struct space *space, uint32_t kernel);

#endif
