/* Threads that would do better on another node: what the home of a space has seen each of its kernels use in a period,
 * and what their accesses would cost elsewhere. Pure functions, for tests on the host. mm/seen/draw.md describes them.
 */
#ifndef MM_SEEN_DRAW_H
#define MM_SEEN_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"

#define DRAW_WHOLE 1024u /* parts of the time that accesses take, or of what was used */
#define DRAW_ENOUGH                                                                                                    \
    512u /* sixteenths of pages that a kernel must have been seen to use: two usual blocks, of 64 KiB                  \
          */

/* What one kernel was seen to use in a period, in sixteenths of pages. All fields: space->lock. */
struct seen_tally {
    uint64_t own;     /* that nobody on another node uses: it is at the kernel's node, or comes there */
    uint64_t copied;  /* that has copies, or is to have some: it is near everywhere */
    uint64_t now;     /* of the rest: what the way to where it is costs now, times distance */
    uint32_t refused; /* 1 + the period in which its threads were to move in vain; 0: they have not been */
    uint64_t left[];  /* of the rest, for each node: what would be there if the kernel did not use it */
};

/* A block that a kernel of NODE was seen to use. */
struct seen_use {
    uint32_t node;   /* of the kernel */
    uint32_t here;   /* where the block is */
    uint32_t weight; /* sixteenths of it that were used, times its pages */
    uint64_t others; /* the nodes of the other kernels that use it, a bit for each */
    bool stays;      /* it cannot move, or is not to */
    bool copied;     /* it has copies, or is not written and is to have some */
};

/* Where the threads of a kernel are to go. */
struct seen_draw {
    uint32_t kernel;
    uint32_t node;
    uint32_t part; /* of DRAW_WHOLE: the time of its accesses there, of that here */
    uint32_t own;  /* of DRAW_WHOLE: what is used here alone, of all that it was seen to use */
};

/* The home's look at the tallies of all kernels, a part at a time; zeros at first. */
struct seen_search {
    uint32_t age;    /* the period; a table with another one is not that of the search */
    uint32_t kernel; /* the next one */
    bool begun, first;
    bool reads;  /* the tallies, which have not been read in this period */
    bool leaves; /* one that was read leaves something */
    bool found;  /* in the end: DRAW is to be */
    struct seen_draw draw;
};

/* The distance of memory on a node from a CPU on another one, as in ACPI's SLIT. */
typedef const uint8_t (*seen_distances)[NODES_MAX];

/* The bytes of a tally on a machine with NODES nodes. */
static inline uint32_t seen_tally_size(uint32_t nodes)
{
    return (uint32_t)(sizeof(struct seen_tally) + nodes * sizeof(uint64_t));
}

/* Whether there is anything in TALLY that would be elsewhere if the kernel did not use it: its threads may be drawn. */
static inline bool seen_tally_leaves(const struct seen_tally *tally)
{
    return tally->now != 0;
}

/* The kernel of TALLY was seen to use what USE says. */
void seen_tally_see(struct seen_tally *tally, const struct seen_use *use, seen_distances distance);
/* A period is over: nothing is counted yet. What was refused is remembered. */
void seen_tally_clear(struct seen_tally *tally, uint32_t nodes);
/* Where the threads of the kernel of TALLY, which is on NODE, are to go, if its accesses become cheaper there: OUT's
 * node, part and own are set. False: nowhere, as they do not, or as too little was seen. Only the node of which it uses
 * most is considered. */
bool seen_tally_draws(const struct seen_tally *tally, uint32_t nodes, uint32_t node, seen_distances distance,
                      struct seen_draw *out);

#endif
