/* Payloads of SPACE_SEEN and SPACE_SEE_SOON (mm/numa.md), and of THREADS_DRAW (mm/seen/draw.md). */
#ifndef MM_SEEN_WIRE_H
#define MM_SEEN_WIRE_H

#include <stdint.h>

#define SEEN_BLOCK_PAGES 16u /* 64 KiB: a part */
#define SEEN_PAGES_MOST 15u  /* what a look at a block counts to */

/* What a kernel has found accessed in one leaf table since its last look. */
struct msg_space_seen {
    uint64_t space;
    uint64_t start;       /* of the table's addresses */
    uint16_t node;        /* that accessed it */
    uint16_t kernel;      /* whose tables show it */
    uint32_t written;     /* a bit for each part: a page of it was, or may have been, written */
    uint64_t accessed[8]; /* a bit for each page */
};

#define SEEN_REPORTS 8u /* of one message */

/* Reports of spaces with one home; as many struct msg_space_seen follow. */
struct msg_seen_list {
    uint32_t home;
    uint32_t count; /* 1 to SEEN_REPORTS */
};

#define SEEN_PART 8u /* part of what was accessed by which memory is shared */

/* A bit for each report of the message. */
struct msg_seen_answer {
    uint32_t soon;   /* where some of this memory is to be has just been decided, or is soon to be */
    uint32_t shared; /* of an eighth of what was accessed, or more, other nodes than the memory's are users */
};

/* To a kernel: the sender, which is the home of SPACE, wants to know soon what the receiver's threads access. */
struct msg_space_see_soon {
    uint64_t space;
};

static const uint8_t seen_set[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4}; /* bits of a number */

/* How many pages SEEN has. */
static inline uint32_t seen_count_pages(const struct msg_space_seen *seen)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < 8; i++) {
        for (uint64_t word = seen->accessed[i]; word != 0; word >>= 8)
            found += seen_set[word & 0xf] + seen_set[word >> 4 & 0xf];
    }
    return found;
}

/* How much of the COUNT pages from page FIRST of the table on was accessed, in sixteenths rounded up, but at most
 * SEEN_PAGES_MOST. COUNT is a power of two that divides FIRST. */
static inline uint32_t seen_pages(const struct msg_space_seen *seen, uint32_t first, uint32_t count)
{
    uint32_t found = 0, part;

    for (uint32_t i = 0; i < count; i += 64) {
        uint64_t word = seen->accessed[(first + i) / 64] >> first % 64;

        word &= count < 64 ? (1ull << count) - 1 : UINT64_MAX;
        for (; word != 0; word >>= 8)
            found += seen_set[word & 0xf] + seen_set[word >> 4 & 0xf];
    }
    if (found == 0)
        return 0;
    part = (16 * found + count - 1) / count;
    return part < SEEN_PAGES_MOST ? part : SEEN_PAGES_MOST;
}

/* Page PAGE of the table was accessed. */
static inline void seen_add(struct msg_space_seen *seen, uint32_t page)
{
    seen->accessed[page / 64] |= 1ull << page % 64;
}

/* Threads of a process do better on another node: one of them is to move there. */
struct msg_threads_draw {
    uint32_t process;
    uint32_t node;
    uint32_t part; /* as struct seen_draw has them (mm/seen/draw.h) */
    uint32_t own;
};

struct msg_threads_drawn {
    uint32_t thread; /* that has been ordered to move; 0: none */
};

_Static_assert(sizeof(struct msg_threads_draw) == 16 && sizeof(struct msg_threads_drawn) == 4, "wire format");
_Static_assert(sizeof(struct msg_space_seen) == 88 && sizeof(struct msg_seen_list) == 8 &&
                   sizeof(struct msg_seen_answer) == 8 && sizeof(struct msg_space_see_soon) == 8,
               "wire format");

#endif
