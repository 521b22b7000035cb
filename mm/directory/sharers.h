/* The directory of a space, at its home: which other kernels may have something of which pages, so that a change asks
 * these and no others. mm/directory/directory.md has the protocol: what is marked when, and why that is never too late.
 *
 * Contains no hardware access and is tested on the host. The caller holds the lock that protects the directory
 * (space->lock). Nothing here waits, and nothing fails: without memory, a mark becomes coarser. */
#ifndef MM_DIRECTORY_SHARERS_H
#define MM_DIRECTORY_SHARERS_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/message.h"

/* Marks are kept for parts of 8 pages, or for whole blocks of 64 parts: the addresses of one leaf table. */
#define SHARERS_PART_ORDER 3u         /* log2 of the pages of a part */
#define SHARERS_PART (32ull << 10)    /* bytes */
#define SHARERS_BLOCK (2048ull << 10) /* bytes */
#define SHARERS_PARTS (SHARERS_BLOCK / SHARERS_PART)
#define SHARERS_PAGE 4096u /* a range of this size that begins at a page lies in one part */

struct sharers_block {
    uint64_t number;   /* the block's address / SHARERS_BLOCK + 1; 0: an unused place of the table */
    kernel_set whole;  /* marked in all parts */
    kernel_set *parts; /* marked in each of the parts, besides WHOLE; NULL: none */
};

/* All zeros: empty. A hash table of blocks. */
struct sharers {
    struct sharers_block *last; /* the block that was marked or looked up last, or NULL: a cache */
    struct sharers_block *blocks;
    uint32_t size;         /* places of the table: 0 or a power of two */
    uint32_t used;         /* places in use, of blocks without any mark, too */
    uint32_t shift;        /* 64 - log2 of SIZE */
    kernel_set everywhere; /* marked in all blocks, which are not marked for them one by one any more */
};

/* Frees the directory's memory and makes it empty. */
void sharers_end(struct sharers *map);

/* Marks [START, END), which is rounded to whole parts, for KERNELS: they may have an area or an entry there from now
 * on. Without memory, and for a range of more than 2 GiB, the kernels are marked everywhere. */
void sharers_mark(struct sharers *map, uint64_t start, uint64_t end, kernel_set kernels);
/* True if the block of ADDRESS, or only the PART of it that ADDRESS is in, is known to be marked for KERNELS; a quick
 * look that may miss it. */
static inline bool sharers_marked(const struct sharers *map, uint64_t address, bool part, kernel_set kernels)
{
    const struct sharers_block *last = map->last;

    if (last == NULL || last->number != address / SHARERS_BLOCK + 1)
        return false;
    kernels &= ~last->whole;
    if (part && last->parts != NULL)
        kernels &= ~last->parts[address % SHARERS_BLOCK / SHARERS_PART];
    return kernels == 0;
}
/* Marks all addresses for KERNELS. There is no way back but sharers_forget. */
static inline void sharers_mark_all(struct sharers *map, kernel_set kernels)
{
    map->everywhere |= kernels;
}

/* Returns the kernels that are marked anywhere in [START, END). */
kernel_set sharers_in_range(const struct sharers *map, uint64_t start, uint64_t end);
static inline __attribute__((always_inline)) kernel_set sharers_in(const struct sharers *map, uint64_t start,
                                                                   uint64_t end)
{
    const struct sharers_block *last = map->last;

    if (last != NULL && last->number == start / SHARERS_BLOCK + 1 && end <= last->number * SHARERS_BLOCK &&
        (last->parts == NULL || end - start <= SHARERS_PAGE)) {
        kernel_set parts = last->parts != NULL ? last->parts[start % SHARERS_BLOCK / SHARERS_PART] : 0;

        return map->everywhere | last->whole | parts;
    }
    return map->size == 0 ? map->everywhere : sharers_in_range(map, start, end);
}

/* Removes all marks of [START, END), whose bounds are those of parts, but those of kernels that are marked everywhere:
 * no other kernel has anything there. Without memory some marks stay. */
void sharers_clear(struct sharers *map, uint64_t start, uint64_t end);
/* Removes all marks of KERNELS, which have nothing of the space any more. */
void sharers_forget(struct sharers *map, kernel_set kernels);

/* A range in which the same kernels are marked. */
struct sharers_range {
    uint64_t start, end;
    kernel_set sharers;
};
/* Sets RANGE to the next range with marks, in no order of addresses; *CURSOR is 0 at first. Marks of everywhere are
 * left out. False: there are no more. */
bool sharers_next(const struct sharers *map, uint64_t *cursor, struct sharers_range *range);

#endif
