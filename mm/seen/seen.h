/* Accesses that are seen: each kernel looks at the accessed bits of its own page tables, and the home of a space
 * decides by them which memory moves. mm/numa.md describes it. The driver, which looks from time to time, is in
 * tasks/numa. */
#ifndef MM_SEEN_SEEN_H
#define MM_SEEN_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/seen/choice.h"
#include "mm/seen/draw.h"
#include "mm/seen/wire.h"
#include "mm/space/space.h"

/* [a] The policy of this kernel as a home: an index of seen_policies; 0: none. */
extern volatile uint32_t seen_policy_now;
/* [a] How often it has become none. */
extern volatile uint32_t seen_ends;
/* [a] How this kernel sees accesses: the option numasee=. */
extern volatile uint32_t seen_way_now;
/* [a] The time in ns after which counts are halved. */
extern volatile uint64_t seen_half_ns;
/* [a] What moves together: the option numablock=, 4 KiB to 2 MiB, a power of two; 0: as adaptive.md says. */
extern volatile uint64_t seen_block_bytes;
/* [a] The nodes on which a CPU was free when this kernel looked last, a bit for each. */
extern volatile uint64_t seen_room;

/* [i] Called when a space here has got a policy of its own with which its kernels look; does not wait. */
extern void (*seen_begin)(void);
/* [i] Called when this kernel begins to use another node's memory, or another node begins to use its own, or a block of
 * a space whose home this is has to move; does not wait, and may be called with the lock of a space held. */
extern void (*seen_soon)(void);
/* The policy of SPACE, with space->lock held: its own, or that of the option. */
const struct seen_policy *seen_policy_locked(const struct space *space);
/* How accesses to it are seen, an enum seen_way: its own, or that of the option. */
uint32_t seen_way_locked(const struct space *space);
/* SPACE has the policy and the way NUMA (seen_choice_of) from now on. */
void seen_choose_locked(struct space *space, uint32_t numa);
/* Forgets what was seen of SPACE before its policy was none: a later policy begins anew. */
void seen_refresh_locked(struct space *space);

/* The tables of blocks of this kernel's spaces: a space gets one with the first report of it, which grows. */
struct seen_tables {
    uint64_t small, large; /* as struct heap_stats counts objects */
};
void seen_count(struct seen_tables *out);

/* Notes in the trace that NODE has used PAGE, as a look or a fault has found. The figures are the block's number, and
 * the page within it + NODE << 4. */
void seen_note_page_locked(const struct space *space, uint64_t page, uint32_t node);

/* This kernel has mapped FRAME in SPACE, as another kernel has told it. Whose memory that is decides when it looks
 * next. */
void seen_mapped_locked(const struct space *space, uint64_t frame);

/* Looks at the next leaf table of SPACE on this kernel from *AT on, takes its accessed bits or hides its entries, and
 * flushes; or looks at none after many areas without one. Returns false if there is none at all; *FOUND: OUT has
 * something to be reported; *AT is where to go on. */
bool seen_look(struct space *space, uint64_t *at, bool *found, struct msg_space_seen *out);
/* What a look has found goes to the home by mm/seen/gather.h. */

/* At the home: takes the next block that is to move, to *NODE, with those beside it in 2 MiB that are to move there, or
 * that is to be replicated (SEEN_REPLICATE), with its address and bytes: as many as there are below the end of the
 * address space; *MOVES: how often it, or one of those beside it, has lately. False: there is none. */
bool seen_next(struct space *space, uint64_t *start, uint64_t *bytes, uint32_t *node, uint32_t *moves);
/* Adds to the account of SPACE what may be spent for the time since the last call. */
void seen_save_locked(struct space *space);
/* At the home: what seen_next has told has cost COST ns, which the account of SPACE pays. Returns whether there is time
 * for more, or SPACE has a policy that is not bounded. */
bool seen_spend(struct space *space, uint64_t cost);
/* At the home: takes the kernels that are to look soon at SPACE, as others have begun to use their memory; none when it
 * has been called. The caller tells them (seen_tell), which waits. */
kernel_set seen_to_tell(struct space *space);
void seen_tell(kernel_set kernels, uint64_t id);
/* At the home: PAGE of a block that seen_next has told could not move to NODE, or to none (SEEN_ANY_NODE), so that
 * its block is not to move there for a while. */
void seen_not_moved(struct space *space, uint64_t page, uint32_t node);
/* At the home: nothing of [START, END), a block that seen_next has told, could be replicated. */
void seen_not_replicated(struct space *space, uint64_t start, uint64_t end);
/* At the home: of each of NODES_MAX nodes, to LAST: how many of the blocks that others than their own node have used it
 * was the last to be seen using. */
void seen_last(struct space *space, uint16_t *last);
/* Whether threads of SPACE, which is at home here, may be drawn: then the caller asks at least once in a period. */
bool seen_draws(struct space *space);
/* At the home, once in each period: the kernel whose threads gain most by moving to another node, if there is one whose
 * policy moves threads (draw.md). Reads the tallies of some kernels; true: SEARCH goes on with the next call, between
 * which the caller holds no reference to SPACE. */
bool seen_draw_next(struct space *space, struct seen_search *search);
/* At the home: a thread has been ordered to move as DRAW says; or none (not ORDERED), so that none is to for a while.
 */
void seen_drawn(struct space *space, const struct seen_draw *draw, bool ordered);
/* The nodes to which PAGE may follow its users now: none if it has been given a policy meanwhile that forbids it, or by
 * which nothing moves. */
uint64_t seen_may_follow(struct space *space, uint64_t page);
/* Frees what is known of SPACE, which ends. */
void seen_end(struct space *space);

/* Registers the message. Once. */
void seen_init(void);

#endif
