/* Payload of SPACE_SEEN: mm/numa.md. */
#ifndef MM_SEEN_WIRE_H
#define MM_SEEN_WIRE_H

#include <stdint.h>

#define SEEN_BLOCK_PAGES 16u                  /* 64 KiB */
#define SEEN_BLOCKS (512u / SEEN_BLOCK_PAGES) /* of a leaf table */
#define SEEN_PAGES_MOST 15u                   /* what a block's four bits count to */

/* What a kernel has found accessed in one leaf table since its last look. */
struct msg_space_seen {
    uint64_t space;
    uint64_t start;                 /* of the table's addresses */
    uint32_t node;                  /* that accessed it */
    uint32_t written;               /* a bit for each block: a page of it was, or may have been, written */
    uint8_t pages[SEEN_BLOCKS / 2]; /* of each block: pages, in four bits, the first block in the lower ones */
};

static inline uint32_t seen_pages(const struct msg_space_seen *seen, uint32_t block)
{
    return (uint32_t)(seen->pages[block / 2] >> block % 2 * 4) & SEEN_PAGES_MOST;
}

/* One more page of BLOCK. */
static inline void seen_add(struct msg_space_seen *seen, uint32_t block)
{
    if (seen_pages(seen, block) < SEEN_PAGES_MOST)
        seen->pages[block / 2] = (uint8_t)(seen->pages[block / 2] + (1u << block % 2 * 4));
}

_Static_assert(sizeof(struct msg_space_seen) == 40, "wire format");

#endif
