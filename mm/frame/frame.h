/* Physical frames of this instance: a buddy allocator over the plan's ranges (Knuth, The Art of Computer Programming,
 * volume 1, 2.5). Frames of other instances never pass through here. */
#ifndef MM_FRAME_FRAME_H
#define MM_FRAME_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"

#define FRAME_ORDER_MAX 10u /* 2^10 frames: 4 MiB */

/* Takes over [BASE, BASE + SIZE), memory of NODE (below NODES_MAX), reached at physical address plus DELTA. Its first
 * bytes become the bookkeeping. -E2BIG: more ranges than there is room for; -ENOMEM: too small to be of use (nothing is
 * lost but that range). */
int frame_add_range(uint64_t base, uint64_t size, uint64_t delta, uint32_t node);
/* The nodes that this instance has memory of, a bit for each. */
uint64_t frame_nodes(void);

/* 2^ORDER contiguous frames, aligned to their size, contents unspecified; physical address, or 0 when there are none.
 */
uint64_t frame_alloc(uint32_t order);
/* One frame filled with zeros, or 0. */
uint64_t frame_alloc_zeroed(void);
/* One frame for a page of a program, zeroed or not, and a zeroed one for the tables of such pages. 0 already when only
 * the last frames are left: those are for the kernel's own objects and, half of them, for tables. */
uint64_t frame_alloc_page(bool zeroed);
uint64_t frame_alloc_table(void);
/* As frame_alloc_page, from memory of a node of SET, a bit for each. */
uint64_t frame_alloc_page_on(uint64_t set, bool zeroed);
/* 2^ORDER contiguous frames, aligned to their size, for pages of a program, contents unspecified. Each is a single
 * frame from now on, which one space has: all are given back one by one by frame_release, and come together again as
 * they are. 0 already when only the last frames are left. */
uint64_t frame_alloc_pages(uint32_t order);
/* FUNCTION gives back frames that are only kept for later, some of them, and says whether there were any. It is called
 * wherever pages of programs or objects are asked for and there is no memory, with the caller's locks: it waits for
 * nothing and allocates nothing. Once, at the start. */
void frame_set_give_up(bool (*function)(void));
/* Does so; false: nothing is kept. Those who ask for frame_alloc themselves may try again. */
bool frame_make_room(void);
/* Gives back a single frame that still is filled with zeros: it is kept so for a while, and counts as free. */
void frame_free_zeroed(uint64_t frame);
/* Gives back what frame_alloc(ORDER) returned. Panics on a frame that is not allocated with that order. */
void frame_free(uint64_t frame, uint32_t order);

/* A frame that programs map counts the address spaces that have it, one reference each; see mm/fork/fork.md. A new
 * frame has none, and is given back by frame_free, until frame_share has counted one; from then on by frame_release. */
void frame_share(uint64_t frame);
/* One space less; the last one frees it. Panics on a frame that no space has. */
void frame_release(uint64_t frame);
/* How many spaces have FRAME; 0 when none has, or it is not a frame of this instance. */
uint32_t frame_spaces(uint64_t frame);

/* FRAME is one of this instance that nobody has: part of a free block. */
bool frame_is_free(uint64_t frame);

/* The first frame from FROM on that some space has, and how many have it; 0: there is none. Nobody allocates or frees
 * frames of programs meanwhile. */
uint64_t frame_next_shared(uint64_t from, uint32_t *spaces);

/* A peer is told of FRAME, which is this kernel's: counted for the statistics, and nothing depends on it. */
void frame_lend(uint64_t frame);

/* Pages free now, pages managed in all, and times a frame was lent. */
struct frame_stats {
    uint64_t free, total, lent;
};
void frame_stats(struct frame_stats *out);
/* Pages free, and managed in all, on NODE. */
void frame_stats_on(uint32_t node, uint64_t *free, uint64_t *total);

#endif
