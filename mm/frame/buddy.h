/* Free blocks of this instance's memory, for mm/frame only: a buddy allocator over the ranges of the plan (Knuth, The
 * Art of Computer Programming, volume 1, 2.5). mm/frame/cache.h keeps single frames for each CPU above it, and
 * mm/frame/frame.h is the interface for others.
 *
 * Each range begins with a struct frame for each of its pages. A free block's links lie in the block itself. The
 * instance has one lock for all blocks. Marks: [i] set once, [k] under that lock, [a] atomic. */
#ifndef MM_FRAME_BUDDY_H
#define MM_FRAME_BUDDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "mm/frame/frame.h"

#define RANGES_MAX 64
/* 2^18 frames: 1 GiB. Far more than anybody is given at once: what nobody has had yet is then in few blocks, and of
 * such a one only the first bytes are written. An emulator's host gives memory to what is written, and zeroes it first.
 */
#define BLOCK_ORDER_MAX 18u

enum frame_state {
    FRAME_INSIDE, /* not the first frame of a block, or never handed out */
    FRAME_FREE,   /* a block of the buddy allocator */
    FRAME_CACHED, /* a single frame that a CPU keeps: free for everybody in need */
    FRAME_USED
};

struct frame {
    uint8_t state; /* enum frame_state of the block that starts here */
    uint8_t order;
    uint16_t note;            /* frame_note */
    volatile uint32_t spaces; /* [a] references of address spaces */
};

struct range {
    uint64_t base; /* physical address of frames[0] */
    uint64_t size; /* bytes */
    uint32_t node;
    struct frame *frames;
};

extern struct range buddy_ranges[RANGES_MAX];   /* [i] after start */
extern uint32_t buddy_range_count;              /* [i] */
extern struct range *volatile buddy_range_last; /* [a] a cache: look-ups have locality */
extern uint64_t buddy_delta;                    /* [i] after start: virtual minus physical, of all ranges */
extern uint64_t buddy_nodes;                    /* [i] after start: the nodes of the ranges, a bit for each */
extern uint64_t buddy_total;                    /* [i] after start: frames that are managed */
extern volatile uint64_t buddy_free;            /* [k] frames in free blocks */

/* The range of FRAME, or NULL: it is not ours. */
struct range *buddy_find_range(uint64_t frame);
static inline struct range *range_of(uint64_t frame)
{
    struct range *range = buddy_range_last;

    return frame - range->base < range->size ? range : buddy_find_range(frame);
}

/* FRAME's bookkeeping; it lies in RANGE. */
static inline struct frame *range_frame(const struct range *range, uint64_t frame)
{
    return &range->frames[(frame - range->base) / PAGE_SIZE];
}

/* Where the contents of FRAME, which is ours, are mapped. */
static inline void *frame_contents(uint64_t frame)
{
    return (void *)(frame + buddy_delta);
}

/* frame_add_range. */
int buddy_add_range(uint64_t base, uint64_t size, uint64_t delta, uint32_t node);
/* Takes a block of ORDER, FRAME_ORDER_MAX at most, from a node of SET, the smallest that there is on the first of them.
 * It is in state USED, has no references, and its contents are unspecified. 0: there is none. */
uint64_t buddy_take(uint64_t set, uint32_t order);
/* Takes a block of at most 2^MOST frames of NODE, whatever its size; *ORDER becomes it. 0: there is none. */
uint64_t buddy_take_some(uint32_t node, uint32_t most, uint32_t *order);
/* Returns a block in any state but FREE, and merges it with its buddies. */
void buddy_give(struct range *range, uint64_t frame, uint32_t order);
/* Returns COUNT frames from FRAME on, single ones in use without references, as the largest blocks that they make. */
void buddy_give_run(struct range *range, uint64_t frame, uint64_t count);
/* frame_is_free, for what is in free blocks. */
bool buddy_has(const struct range *range, uint64_t frame);
/* Frames in free blocks of NODE, and frames of it that are managed. */
void buddy_count(uint32_t node, uint64_t *free, uint64_t *total);

#endif
