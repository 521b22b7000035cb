/* Blocks that adapt to their users, with numablock=adaptive: who has used each page of 2 MiB, and how these divide into
 * blocks. Pure functions, for tests on the host. adaptive.md describes them; the idea is that of Lindegger, "NUMA
 * Migration on the Barrelfish OS" (ETH Zurich, 2013), chapter 5. */
#ifndef MM_SEEN_REGION_H
#define MM_SEEN_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "mm/seen/wire.h"

#define REGION_PAGES 512u
#define REGION_USUAL SEEN_BLOCK_PAGES /* pages of a block where nothing tells otherwise */
#define REGION_SURE 6u                /* looks in a row that have seen one node alone, until it is a page's sole user */
#define REGION_IDLE 64u               /* periods without an access after which nobody uses a page */

/* All fields: space->lock. */
struct seen_region {
    struct seen_region *next;           /* with the same hash value */
    uint64_t number;                    /* its address / 2 MiB */
    uint32_t age;                       /* the period of the last report */
    uint64_t starts[REGION_PAGES / 64]; /* a bit for each page with which a block begins */
    uint16_t pages[REGION_PAGES];       /* who used it last, how often in a row, and when: region.c */
};

/* Makes REGION, which is all zeros, one of usual blocks that nobody has used. */
void seen_region_begin(struct seen_region *region);
/* SEEN, a report about it of the period AGE, adds to what is known. */
void seen_region_see(struct seen_region *region, const struct msg_space_seen *seen, uint32_t age);
/* Divides REGION into blocks by what is known in the period AGE. Returns whether they are others than before. */
bool seen_region_divide(struct seen_region *region, uint32_t age);
/* The block of REGION in which PAGE, 0 to 511, is: its first page, and *COUNT pages: a power of two, which divides the
 * first page. STARTS: of a region, as it is or was. */
uint32_t seen_region_block(const uint64_t starts[REGION_PAGES / 64], uint32_t page, uint32_t *count);
/* The nodes, a bit for each, that have used one of COUNT pages from FIRST on last. */
uint64_t seen_region_users(const struct seen_region *region, uint32_t first, uint32_t count, uint32_t age);

#endif
