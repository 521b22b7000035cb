/* Frames on pretended physical memory, of a kernel with one CPU. The sources are included, so that each test begins
 * with none. */
#ifndef TESTS_FRAMES_H
#define TESTS_FRAMES_H

#include "mm/frame/buddy.c"
#include "mm/frame/cache.c"
#include "mm/frame/frame.c"

#include <stdlib.h>
#include <sys/mman.h>

#include "tests/stand_in/panic.h"
#include "tests/test.h"

volatile uint32_t refuse_rate;

bool refuse_slowly(const void *site)
{
    (void)site;
    return false;
}

#define ARENA (64ull << 20) /* bytes of host memory that plays physical memory */
#define BASE 0x40000000ull  /* where it pretends to begin */
#define FRAMES (ARENA / PAGE_SIZE)

bool cpu_several;
uint32_t cpu_total = 1;

static uint8_t *arena;
static uint8_t owner[FRAMES]; /* the reference: 0 not ours or free, else 1 + order of the block the page is in */

static inline void begin(void)
{
    if (arena == NULL)
        arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(arena != MAP_FAILED);
    memset(&lock, 0, sizeof(lock));
    memset(buddy_ranges, 0, sizeof(buddy_ranges));
    memset(free_lists, 0, sizeof(free_lists));
    memset(free_on, 0, sizeof(free_on));
    memset(caches, 0, sizeof(caches));
    buddy_free = buddy_total = buddy_nodes = buddy_delta = lent = 0;
    buddy_range_last = &buddy_ranges[0];
    buddy_range_count = 0;
    reserve = RESERVE_LEAST;
    objects_leave = OBJECTS_LEAVE(RESERVE_LEAST);
    privileged = NULL;
    memset(owner, 0, sizeof(owner));
}

static inline uint64_t delta(void)
{
    return (uint64_t)arena - BASE;
}

static inline int add(uint64_t offset, uint64_t size)
{
    int error = frame_add_range(BASE + offset, size, delta(), 0);

    frame_start_cpu(0);
    return error;
}

/* The free blocks, when the CPU keeps nothing. */
static inline void blocks(uint32_t per_order[BLOCK_ORDER_MAX + 1])
{
    cache_drain();
    for (uint32_t order = 0; order <= BLOCK_ORDER_MAX; order++) {
        per_order[order] = 0;
        list_for_each(node, &free_lists[0][order])
            per_order[order]++;
    }
}

/* The block is aligned, ours, and free by the reference; marks it. */
static inline void check_block(uint64_t frame, uint32_t order)
{
    uint64_t first = (frame - BASE) / PAGE_SIZE;

    CHECK(frame >= BASE && frame - BASE < ARENA);
    CHECK_EQ(frame & ((PAGE_SIZE << order) - 1), 0);
    for (uint64_t i = first; i < first + (1ull << order); i++) {
        CHECK_EQ(owner[i], 0);
        owner[i] = (uint8_t)(1 + order);
    }
    memset(arena + (frame - BASE), 0x5a, PAGE_SIZE << order);
}

static inline void release(uint64_t frame, uint32_t order)
{
    uint64_t first = (frame - BASE) / PAGE_SIZE;

    memset(owner + first, 0, 1ull << order);
    frame_free(frame, order);
}

static inline uint64_t free_pages(void)
{
    struct frame_stats stats;

    frame_stats(&stats);
    return stats.free;
}

/* Allocates blocks of ORDER until there are none; returns how many, at most MOST in TAKEN. */
static inline size_t exhaust(uint32_t order, uint64_t *taken, size_t most)
{
    size_t count = 0;
    uint64_t frame;

    while ((frame = frame_alloc_sure(order)) != 0) {
        CHECK(count < most);
        check_block(frame, order);
        taken[count++] = frame;
    }
    return count;
}

static uint64_t taken[FRAMES];

#endif
