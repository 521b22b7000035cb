/* The policies that move memory to those who use it: pure functions of what has been seen of a block, for tests on the
 * host. mm/numa.md describes them. */
#ifndef MM_SEEN_CHOICE_H
#define MM_SEEN_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"

#define SEEN_STAYS UINT32_MAX
#define SEEN_REPLICATE (UINT32_MAX - 1) /* each node gets a copy (mm/replicate/replicate.md) */

/* A block when another look at accesses has been counted. */
struct seen_view {
    uint32_t nodes;       /* of the machine */
    uint64_t memory;      /* the nodes that have memory, a bit for each */
    uint64_t block;       /* its number: address / size of a block */
    uint32_t here;        /* the node of the block */
    uint32_t home;        /* the node of the process's home kernel */
    uint32_t group;       /* the home node of the NUMA group that the block belongs to; SEEN_STAYS: none */
    uint32_t now;         /* the node whose accesses have just been seen */
    uint32_t pages;       /* in how many of each 16 pages */
    bool fresh;           /* for less than a period: not all of its users may have been counted yet */
    uint32_t last;        /* the node whose accesses were seen before; SEEN_STAYS: nobody's yet */
    uint32_t written;     /* not 0: its pages were written lately */
    bool replicated;      /* it has been replicated, and was not seen to be written since */
    const uint16_t *used; /* of each node: pages found accessed, those just seen included; halved every period */
    const uint32_t
        *load;       /* of each node: the weights of the space's blocks with several users that are or come there */
    uint32_t weight; /* of the block, in a load: the most of 16 pages that a report has shown lately */
    bool settled;    /* the block has had several users for as long as counts take to become half */
    bool waits;      /* its other users may still come to its node: a CPU is free there (mm/seen/draw.md) */
    const uint16_t *before, *after;       /* USED of the blocks at both sides, for a policy that looks beside; NULL:
                                             nothing is known of it */
    const uint8_t (*distance)[NODES_MAX]; /* of memory on a node from a CPU on another one, as in ACPI's SLIT: 10 is
                                             local */
};

struct seen_policy {
    const char *name; /* the value of the option numa= */
    /* Returns the node to which the block is to move, SEEN_REPLICATE or SEEN_STAYS; a node without memory is taken as
     * SEEN_STAYS. NULL: nobody looks for accesses. */
    uint32_t (*choose)(const struct seen_view *view);
    bool beside;  /* it wants to know of the blocks at both sides */
    bool draws;   /* threads move to their memory, too (mm/seen/draw.md) */
    bool bounded; /* it spends what the account of the space has (mm/space/account.h) */
};

/* False if nothing ever moves, nor is replicated, by POLICY. */
bool seen_policy_moves(const struct seen_policy *policy);

#define SEEN_POLICIES 17u
extern const struct seen_policy seen_policies[SEEN_POLICIES]; /* in the order of the option's values */

/* Returns the nodes, a bit for each, that use a block, as USED of each of NODES nodes says: those that were seen at a
 * sixteenth of the pages of the one that was seen most. A page that was used in a period does not tell how often, and
 * kernels look at different times, so shares say little; but who is seen far less uses the block no more. */
uint64_t seen_users(const uint16_t *used, uint32_t nodes);

/* Returns the policy NAME as an index of seen_policies; SEEN_POLICIES: there is none. */
uint32_t seen_policy_find(const char *name);

/* How accesses are seen, in the order of the values of the option numasee=. */
enum seen_way { SEEN_BY_BITS, SEEN_BY_FAULTS, SEEN_WAYS };

/* What a process has chosen for itself is a number of eight bits: 1 + the policy, and above it 1 + the way; 0 instead
 * of either: that of the option. */
#define SEEN_NO_CHOICE UINT32_MAX
#define SEEN_CHOICE_BITS 8u
static inline uint32_t seen_choice_policy(uint32_t choice)
{
    return choice & 0x3f;
}
static inline uint32_t seen_choice_way(uint32_t choice)
{
    return choice >> 6;
}
static inline bool seen_choice_valid(uint32_t choice)
{
    return choice >> SEEN_CHOICE_BITS == 0 && seen_choice_policy(choice) <= SEEN_POLICIES &&
           seen_choice_way(choice) <= SEEN_WAYS;
}
/* Returns the choice TEXT, "POLICY" or "POLICY,WAY", in which "default" is a policy, too; SEEN_NO_CHOICE: it is none.
 */
uint32_t seen_choice_of(const char *text);

#endif
