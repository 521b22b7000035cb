/* The home's table of the blocks of a space that other nodes than their own have used: mm/numa.md. All functions need
 * space->lock, but for seen_count. */
#ifndef MM_SEEN_TABLE_H
#define MM_SEEN_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "mm/seen/block.h"
#include "mm/seen/draw.h"
#include "mm/seen/region.h"
#include "mm/space/space.h"

#define SEEN_CHAINS 64u

/* A hash table with open addressing. All blocks have one unit, or the pages that their regions say. */
struct seen {
    uint32_t places, count, wanted;
    uint32_t cursor;          /* of seen_next */
    uint32_t aged;            /* of seen_grow_old: the next place */
    uint32_t grown_age;       /* of seen_grow_old: the period in which blocks grow old */
    uint32_t grown;           /* of seen_grow_old: places that it has gone through in that period */
    uint32_t region_count;    /* of REGIONS */
    uint64_t unit;            /* in bytes: a block, or a page if blocks adapt */
    bool adaptive;            /* blocks adapt: each has a region */
    kernel_set tell;          /* kernels that are to look soon: of their memory others have begun to use some */
    uint64_t forgotten;       /* when it was full and all was forgotten, clock_now ns; 0: never */
    uint32_t load[NODES_MAX]; /* of each node: sixteenths of blocks with several users */
    uint32_t last[NODES_MAX]; /* of each node: blocks that it was the last to be seen using */
    struct seen_region *regions[SEEN_CHAINS];
    uint32_t tally_age;                      /* the period of the tallies; 0: they are the first ones */
    uint32_t draw_age;                       /* the period before which no threads are to move */
    bool draws;                              /* a kernel lately used what would be elsewhere without it */
    uint32_t refused;                        /* 1 + the period in which threads were to move in vain; 0: none were */
    struct seen_tally *tallies[KERNELS_MAX]; /* of each kernel; NULL: nothing was seen of it */
    uint8_t blocks[];
};

/* A block, known or not. */
struct seen_place {
    uint64_t number; /* as a struct seen_block has it; 0: there is none */
    uint32_t size;   /* in units */
};

/* The first byte of the block PLACE, and its bytes. */
static inline uint64_t seen_start(const struct seen *seen, struct seen_place place)
{
    return (place.number - 1) * seen->unit;
}
static inline uint64_t seen_bytes(const struct seen *seen, struct seen_place place)
{
    return place.size * seen->unit;
}

/* Returns the table of SPACE for blocks of BYTES, 0: blocks that adapt, which is made if need be. NULL: no memory. */
struct seen *seen_table(struct space *space, uint64_t bytes);
/* Forgets what is known of SPACE if it is of other blocks than these; all. */
void seen_forget_others(struct space *space, uint64_t bytes);
void seen_destroy(struct space *space);

/* Makes room for MORE blocks in the table of SPACE, which may be another one afterwards. When it may not grow any more,
 * everything is forgotten. False: no memory. */
bool seen_make_room(struct space *space, uint32_t more);

/* The block of place PLACE, below seen->places, whose number may be 0. */
struct seen_block *seen_block_at(struct seen *seen, uint32_t place);
/* The block NUMBER, or the unused place where it would be; until the next one is made or removed. */
struct seen_block *seen_find(struct seen *seen, uint64_t number);
/* Makes the record of PLACE, which has none and for which there is room. AGE: the period. */
struct seen_block *seen_make(struct seen *seen, struct seen_place place, uint32_t age);

/* NODE is the last to be seen using BLOCK. */
void seen_set_last(struct seen *seen, struct seen_block *block, uint32_t node);

/* The block in which ADDRESS is. */
struct seen_place seen_place_of(struct seen *seen, uint64_t address);
/* The blocks at both sides of PLACE. */
struct seen_place seen_before(struct seen *seen, struct seen_place place);
struct seen_place seen_after(struct seen *seen, struct seen_place place);

/* The tally of KERNEL, which is made if need be. NULL: no memory. */
struct seen_tally *seen_tally_of(struct seen *seen, uint32_t kernel);

/* BLOCK, and some of all blocks, grow old until the period AGE. */
void seen_age(struct seen *seen, struct seen_block *block, uint32_t age);
void seen_grow_old(struct seen *seen, uint32_t age);

/* Blocks adapt: the region in which ADDRESS is; NULL: it has none. The second makes it; NULL: no memory, or all has
 * been forgotten. */
struct seen_region *seen_region_of(struct seen *seen, uint64_t address);
struct seen_region *seen_region_make(struct space *space, uint64_t address);
/* Divides REGION anew, and its records with it. False: it is as it was, without memory, or all has been forgotten. */
bool seen_adapt(struct space *space, struct seen_region *region, uint32_t age);

#endif
