/* Declarations that the files of mm/change share. */
#ifndef MM_CHANGE_INTERNAL_H
#define MM_CHANGE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/change/change.h"
#include "mm/lease/decide.h"
#include "mm/lock/lock.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

#define MAP_FILL 1ull /* a bit of the returned address of a new area: its pages are to get frames at once */

/* Makes [TO, TO + ROOM) an area with PROT and BACKING whose first pages have the frames of [FROM, FROM + LENGTH), which
 * is shared. LOCK covers both ranges, and the caller has mapped every page of the first on this kernel. -EAGAIN: one of
 * them is no longer mapped here; -EEXIST: the new place is not free; -ENOMEM. Waits. */
int space_duplicate(struct space *space, struct space_lock *lock, uint64_t from, uint64_t length, uint64_t to,
                    uint64_t room, uint32_t prot, uint64_t backing);

/* Performs an operation on one kernel, with space->lock held. Returns the value to be answered, or a negative errno. */
typedef int64_t operation_apply(struct space *space, const struct msg_space_change *change);

/* An operation on a space: a row of mm/change/operations.c. */
struct operation {
    operation_apply *apply;
    /* For operations that need to know about other kernels' leases and are requested without the lock of the range:
     * sets RANGE to the addresses whose leases the home recalls first, as FIND of lease_await_found. NULL: no recall;
     * where the caller has locked the range, the grant of the lock has recalled the leases. */
    bool (*recalls)(struct space *space, const void *change, struct space_range *range);
    uint16_t flags;   /* enum operation_flag */
    uint16_t counted; /* offset in struct space_stats of the counter of calls */
};
enum operation_flag {
    AT_HOME = 1,     /* only the home performs it; without this flag every member does, and a member that no thread has
                      * reached yet has nothing to do */
    PUT_OFF = 2,     /* a message is deferred until this kernel has the answers to its faults under way in the range */
    SETTLES = 4,     /* leaves frames pending free, which SPACE_SETTLE then releases; the value 1 says that part of the
                      * range is in no area: the rest is done and the call returns -ENOMEM, as on Linux */
    NO_RANGE = 8,    /* START and LENGTH of a message are not checked */
    TWO_PLACES = 16, /* MOVE of a message must be valid, too */
    FROM_HOME = 32,  /* only the home may request it */
    OF_LEASE = 64,   /* the home performs it, or a kernel that has leased the range */
    WALKS = 128      /* takes as long as the range has areas and entries: a worker makes it if that is long */
};

#define SPACE_OPERATIONS MSG_SPACE_MAP                /* the first type; SPACE_OPERATIONS_END follows the last */
#define SPACE_OPERATIONS_END (MSG_SPACE_WRITABLE + 1) /* the numbers of other messages between them have no row */
extern const struct operation space_operations[];

/* The row of message TYPE. */
static inline const struct operation *space_operation(uint32_t type)
{
    return &space_operations[type - SPACE_OPERATIONS];
}
/* Counts a program's call that is performed by operation TYPE. */
void space_count_call_locked(struct space *space, uint32_t type);

operation_apply space_apply_map_locked, space_apply_unmap_locked, space_apply_protect_locked, space_apply_break_locked;
operation_apply space_apply_write_protect_locked, space_apply_discard_locked, space_apply_revoke_locked;
operation_apply space_apply_look_locked, space_apply_room_locked, space_apply_nothing_locked;
operation_apply space_apply_prepare_locked, space_apply_move_locked, space_apply_cancel_locked;
operation_apply space_apply_check_locked, space_apply_flag_locked;
operation_apply space_apply_later_locked, space_apply_strategy_locked, space_apply_fence_locked;

/* What changes pages first drops the copies that this kernel has of them (mm/page/replica.h): whatever every member
 * performs and puts off until no answer is under way. */
static inline bool space_drops_replicas(uint32_t type)
{
    return (space_operation(type)->flags & (AT_HOME | PUT_OFF)) == PUT_OFF;
}

/* space_apply_locked performs CHANGE on this kernel only. space_settle_locked then releases the frames that are pending
 * free in the range; -ENOMEM: some frames of other kernels stay pending free, because there is no memory for the
 * messages to their owners. */
static inline int64_t space_apply_locked(struct space *space, const struct msg_space_change *change)
{
    if (__builtin_expect(space->replicas != 0, 0) && space_drops_replicas(change->operation))
        space_drop_replicas_locked(space, change->start, change->start + change->length);
    return space_operation(change->operation)->apply(space, change);
}
int space_settle_locked(struct space *space, uint64_t start, uint64_t end);
/* The same for callers that do not hold space->lock. */
int64_t space_apply(struct space *space, const struct msg_space_change *change);
int space_settle(struct space *space, uint64_t start, uint64_t end);
/* Removes the areas and entries of the range; owning entries become pending free, or with LAST (SPACE_LAST), if the
 * frame is this kernel's, empty. 0, SPACE_PENDING if the range has entries pending free now, or -ENOMEM: unchanged. */
int space_unmap_locked(struct space *space, uint64_t start, uint64_t length, uint32_t last);
/* Applies CHANGE, with SPACE_LAST if it lets pages go, if this kernel may decide it by itself, after an unmap of the
 * range if REPLACE; *RESULT is its result. Returns false when other kernels must take part, or when the change is long
 * and needs the lock of the range. */
bool space_change_alone(struct space *space, const struct msg_space_change *change, bool replace, int64_t *result);

/* --- walks in slices: mm/change/walk.c --- */

#define AREAS_AT_ONCE 64u /* areas that are changed under space->lock without a pause */

/* True if a change of [START, END) takes so many steps here that it has to be made in slices. Such a change is made by
 * a task, and under the lock of the range, which keeps others away between slices. A change without that lock is made
 * in one critical section, with space->at_once set, and is short. */
bool space_is_long_locked(const struct space *space, uint64_t start, uint64_t end);
/* If a slice is over, releases space->lock and takes messages. Afterwards areas and tables are to be looked up again.
 */
void space_pause_locked(struct space *space);
/* Finds the next pages of [*AT, END) that are in a table here: [*AT, *STOP), within SIZE aligned bytes (a power of two,
 * up to LEAF_SIZE). False: there are none. */
bool space_next_pages_locked(struct space *space, uint64_t *at, uint64_t end, uint64_t size, uint64_t *stop);
/* Returns where a piece of [START, END) with a limited number of areas ends: at the start of an area, or at END. */
uint64_t space_next_areas_locked(const struct space *space, uint64_t start, uint64_t end);

/* True when this kernel may decide the range of CHANGE, by a lease or alone. A SPACE_MAP must also have a fixed place
 * and be allowed in a lease; lease_room_locked finds places in leases. */
bool space_leased_change_locked(const struct space *space, const struct msg_space_change *change);
/* True when this kernel may make CHANGE by itself. */
static inline bool space_decides_change_locked(const struct space *space, const struct msg_space_change *change)
{
    return space_alone_locked(space) || space_leased_change_locked(space, change);
}
/* True when CHANGE, a SPACE_LOOK, is a query about the page START alone. */
static inline bool space_looks_at_page(const struct msg_space_change *change)
{
    return change->look.what == SPACE_LOOK_STOP || change->look.what == SPACE_LOOK_POLICY;
}
/* True when CHANGE, a SPACE_LOOK, asks for areas that a shmat has mapped. */
bool space_looks_attached(const struct msg_space_change *change);
/* The caller holds the lock of the range. Performs CHANGE on OTHERS, without the home, and on this kernel if it is not
 * the home, after the answers to its faults under way in the range. Returns 0 or a negative errno, or a positive value
 * if a kernel answered one; waits. */
int space_apply_others(struct space *space, kernel_set others, const struct msg_space_change *change, const char *why);
/* As space_apply_others, for a change that the home has made already, or that no kernel refuses: a kernel without
 * memory, which has changed nothing, is asked again until it has some. -ENOMEM: it had none in time (again.h). */
int space_apply_rest(struct space *space, kernel_set others, const struct msg_space_change *change, const char *why);
/* Performs CHANGE, which has the flag SETTLES, on OTHERS and here, and then releases the frames pending free where
 * there are any. The caller holds the lock of the range. 0 or a negative errno; -ENOMEM: nothing has changed, but as
 * for space_apply_rest. Waits. */
int space_settle_everywhere(struct space *space, kernel_set others, const struct msg_space_change *change,
                            const char *why);
/* The same for an unmap of a part of LOCK's range; an error is noted in LOCK. */
int space_unmap_everywhere(struct space *space, struct space_lock *lock, uint64_t start, uint64_t length);
void space_count_change(struct space *space);
/* Whether this kernel knows what is in [START, END): 0, SPACE_ELSEWHERE with the kernel that has leased all of it, or
 * -EAGAIN: this is not the home, and has no lease of it. */
int64_t space_known_locked(const struct space *space, uint64_t start, uint64_t end);
/* Performs CHANGE, a query that uses space_known_locked, wherever the range is known. Waits. */
int64_t space_query(struct space *space, const struct msg_space_change *change);
/* Performs CHANGE, a query, here if this kernel may decide its range, else at the home. In a leased range the holder of
 * the lease knows areas that the home does not. Waits. */
int64_t space_ask_who_knows(struct space *space, const struct msg_space_change *change);

#endif
