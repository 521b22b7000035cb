/* What the home knows of a block: its counts grow old, and so does its part of a node's load.
 * sources: mm/seen/block.c mm/seen/choice.c kernel/lib/string.c */
#include "mm/seen/block.h"

#include <stdlib.h>

#include "mm/seen/choice.h"
#include "mm/seen/wire.h"
#include "tests/test.h"

#define NODES 3u
#define PAGES 15u

static uint32_t load[NODES];

static struct seen_block *new_block(uint32_t age)
{
    struct seen_block *block = calloc(1, sizeof(*block) + NODES * sizeof(block->used[0]));

    block->age = block->told = age;
    block->size = 1;
    block->load = block->tried = SEEN_NOBODY;
    for (uint32_t node = 0; node < NODES; node++)
        load[node] = 0;
    return block;
}

/* As the home does with a report. */
static void report(struct seen_block *block, uint32_t node, uint32_t pages, uint32_t here, uint32_t age)
{
    seen_block_age(block, NODES, load, age);
    seen_block_see(block, load, node, pages, false, age);
    seen_block_place(block, NODES, load, here, age);
}

TEST(block_halves, "counts are halved in each period, and a write is not lately after three")
{
    struct seen_block *block = new_block(7);

    seen_block_see(block, load, 1, 12, true, 7);
    CHECK_EQ(block->written, SEEN_WRITTEN);
    seen_block_age(block, NODES, load, 9);
    CHECK_EQ(block->used[1], 3);
    CHECK(block->written != 0);
    seen_block_age(block, NODES, load, 9); /* once */
    CHECK_EQ(block->used[1], 3);
    seen_block_age(block, NODES, load, 10);
    CHECK_EQ(block->written, 0);
    seen_block_age(block, NODES, load, 100); /* not without a report */
    CHECK_EQ(block->used[1], 1);
    seen_block_see(block, load, 0, 1, false, 100);
    seen_block_age(block, NODES, load, 101);
    CHECK_EQ(block->used[1], 0);
    free(block);
}

TEST(block_far_apart, "users whose kernels look many periods apart stay users, and one that has stopped is none soon")
{
    struct seen_block *block = new_block(0);

    for (uint32_t age = 0; age < 100; age += 5) {
        report(block, age % 2, PAGES, 0, age);
        CHECK_EQ(seen_users(block->used, NODES), age == 0 ? 1 : 3);
    }
    seen_block_age(block, NODES, load, 4000000000u); /* nobody has reported it */
    CHECK_EQ(seen_users(block->used, NODES), 2);
    report(block, 2, PAGES, 0, 4000000000u);
    CHECK_EQ(seen_users(block->used, NODES) >> 2, 1);
    report(block, 2, PAGES, 0, 4000000000u + SEEN_HALVED);
    CHECK_EQ(seen_users(block->used, NODES), 4);
    free(block);
}

/* As the home does with a report of KERNEL. */
static uint64_t kernels_of(struct seen_block *block, uint32_t kernel, uint32_t age)
{
    report(block, 0, PAGES, 0, age);
    block->kernels[0] |= 1ull << kernel;
    return block->kernels[0] | block->kernels[1];
}

TEST(block_kernels,
     "who uses a block is remembered until the period of the next report is over, if that is not too far")
{
    struct seen_block *block = new_block(0);

    CHECK_EQ(kernels_of(block, 1, 1), 1ull << 1);
    CHECK_EQ(kernels_of(block, 2, 1), 3ull << 1);
    CHECK_EQ(kernels_of(block, 3, 11), 7ull << 1); /* kernels look ten periods apart */
    seen_block_age(block, NODES, load, 14);        /* other blocks are reported */
    CHECK_EQ(kernels_of(block, 3, 14), 1ull << 3);
    CHECK_EQ(kernels_of(block, 4, 15), 3ull << 3);
    CHECK_EQ(kernels_of(block, 5, 15 + SEEN_FAR), 3ull << 4);
    CHECK_EQ(kernels_of(block, 6, 16 + 2 * SEEN_FAR), 1ull << 6);
    CHECK_EQ(kernels_of(block, 7, 2), 3ull << 6); /* periods have become longer */
    free(block);
}

TEST(block_longer_period, "when periods become longer, so that their number becomes less, nothing is lost")
{
    struct seen_block *block = new_block(1000);

    report(block, 0, PAGES, 1, 1000);
    report(block, 1, PAGES, 1, 1000);
    seen_block_age(block, NODES, load, 100);
    CHECK_EQ(block->used[0], PAGES);
    CHECK_EQ(load[1], PAGES);
    seen_block_age(block, NODES, load, 101);
    CHECK_EQ(block->used[0], PAGES / 2);
    seen_block_age(block, NODES, load, 100 + SEEN_IDLE);
    CHECK_EQ(load[1], 0);
    block->tried = 2; /* a move that failed in a period that is numbered higher */
    block->tried_age = 1000;
    seen_block_age(block, NODES, load, 200);
    CHECK(seen_block_stuck(block, 0, 2, 200 + SEEN_STUCK - 1));
    CHECK(!seen_block_stuck(block, 0, 2, 200 + SEEN_STUCK));
    free(block);
}

TEST(block_counts_most, "a count does not overflow, however many reports there are")
{
    struct seen_block *block = new_block(0);

    for (uint32_t i = 0; i < 100000; i++)
        seen_block_see(block, load, 2, PAGES, false, 0);
    CHECK_EQ(block->used[2], UINT16_MAX);
    free(block);
}

TEST(block_load, "a block is in the load of its node while several nodes use it, and moves from one load to the other")
{
    struct seen_block *block = new_block(0);

    report(block, 1, PAGES, 0, 0);
    CHECK_EQ(load[0], 0);
    report(block, 0, PAGES, 0, 0);
    CHECK_EQ(load[0], PAGES);
    seen_block_place(block, NODES, load, 1, 0);
    CHECK_EQ(load[0], 0);
    CHECK_EQ(load[1], PAGES);
    for (uint32_t age = 1; age < 10; age++) /* one user remains */
        report(block, 1, PAGES, 1, age);
    CHECK_EQ(load[1], 0);
    free(block);
}

TEST(block_weight, "a report of few pages does not make a block light at once")
{
    struct seen_block *block = new_block(0);

    report(block, 1, PAGES, 0, 0);
    report(block, 0, 2, 0, 0);
    CHECK_EQ(load[0], PAGES);
    report(block, 0, 2, 0, 2);
    CHECK_EQ(load[0], PAGES / 4);
    report(block, 1, 8, 0, 2);
    CHECK_EQ(load[0], 8);
    free(block);
}

TEST(block_idle, "a block that nobody reports any more leaves its node's load, and comes back as a new one when used")
{
    struct seen_block *block = new_block(0);

    report(block, 1, PAGES, 0, 5);
    report(block, 0, PAGES, 0, 5);
    CHECK_EQ(block->shared, 5);
    seen_block_age(block, NODES, load, 5 + SEEN_IDLE - 1);
    CHECK_EQ(load[0], PAGES);
    seen_block_age(block, NODES, load, 5 + SEEN_IDLE);
    CHECK_EQ(load[0], 0);
    seen_block_age(block, NODES, load, 5 + 2 * SEEN_IDLE);
    CHECK_EQ(load[0], 0);
    report(block, 1, PAGES, 0, 20);
    report(block, 0, PAGES, 0, 20);
    CHECK_EQ(load[0], PAGES);
    CHECK_EQ(block->shared, 20);
    free(block);
}

TEST(block_stuck, "a block that could not move is not to move there again for a while, and one that has moved is")
{
    struct seen_block *block = new_block(0);

    CHECK(!seen_block_stuck(block, 0, 1, 3));
    block->tried = 1;
    block->tried_age = 3;
    CHECK(seen_block_stuck(block, 0, 1, 3));
    CHECK(!seen_block_stuck(block, 0, 2, 3));
    CHECK(seen_block_stuck(block, 0, 1, 3 + SEEN_STUCK - 1));
    CHECK(!seen_block_stuck(block, 0, 1, 3 + SEEN_STUCK));
    CHECK(!seen_block_stuck(block, 1, 2, 4)); /* it is there */
    CHECK(!seen_block_stuck(block, 0, 1, 4));
    block->tried = SEEN_ANY_NODE; /* its pages are of others */
    block->tried_age = 4;
    CHECK(seen_block_stuck(block, 0, 1, 4) && seen_block_stuck(block, 0, 2, 4 + SEEN_STUCK - 1));
    CHECK(!seen_block_stuck(block, 0, 2, 4 + SEEN_STUCK));
    free(block);
}

TEST(block_copies, "a block with copies is in no load, also when several nodes use it, until it is written")
{
    struct seen_block *block = new_block(0);

    block->replicated = true;
    report(block, 1, PAGES, 0, 0);
    report(block, 0, PAGES, 0, 0);
    CHECK_EQ(load[0], 0);
    seen_block_see(block, load, 1, PAGES, true, 0);
    seen_block_place(block, NODES, load, 0, 9);
    CHECK_EQ(load[0], PAGES);
    CHECK_EQ(block->shared, 9);
    free(block);
}

TEST(block_tried,
     "what cannot move anywhere may get copies, and one page that a node had no memory for changes nothing")
{
    struct seen_block *block = new_block(3);

    seen_block_try(block, 1);
    CHECK(seen_block_stuck(block, 0, 1, 3) && !seen_block_stuck(block, 0, 2, 3));
    CHECK(!seen_block_stuck(block, 0, SEEN_REPLICATE, 3));
    seen_block_try(block, SEEN_ANY_NODE);
    CHECK(seen_block_stuck(block, 0, 2, 3));
    CHECK(!seen_block_stuck(block, 0, SEEN_REPLICATE, 3));
    seen_block_try(block, 1); /* another page of it */
    CHECK(seen_block_stuck(block, 0, 2, 3));
    block->age = 4;
    seen_block_try(block, 1);
    CHECK(seen_block_stuck(block, 0, 1, 4) && !seen_block_stuck(block, 0, 2, 4));
    free(block);
}

TEST(block_sixteenths,
     "a report tells of each page, and of a block of any size how many sixteenths were accessed, up to 15")
{
    struct msg_space_seen seen = {0};

    seen_add(&seen, 0);
    seen_add(&seen, 63);
    seen_add(&seen, 64);
    seen_add(&seen, 511);
    CHECK_EQ(seen_pages(&seen, 0, 1), SEEN_PAGES_MOST); /* a page is all of its block */
    CHECK_EQ(seen_pages(&seen, 1, 1), 0);
    CHECK_EQ(seen_pages(&seen, 511, 1), SEEN_PAGES_MOST);
    CHECK_EQ(seen_pages(&seen, 62, 2), 8);
    CHECK_EQ(seen_pages(&seen, 48, 16), 1);
    CHECK_EQ(seen_pages(&seen, 32, 32), 1); /* half of one, rounded up */
    CHECK_EQ(seen_pages(&seen, 0, 128), 1);
    CHECK_EQ(seen_pages(&seen, 128, 128), 0);
    CHECK_EQ(seen_pages(&seen, 0, 512), 1);
    for (uint32_t page = 0; page < 512; page++)
        seen_add(&seen, page);
    for (uint32_t count = 1; count <= 512; count *= 2)
        CHECK_EQ(seen_pages(&seen, 512 - count, count), SEEN_PAGES_MOST);
}

TEST(block_moves, "how often a block has moved lately is remembered up to a bound, and forgotten while it rests")
{
    struct seen_block *block = new_block(100);

    for (uint32_t i = 0; i < SEEN_DEAR + 5; i++)
        CHECK_EQ(seen_block_move(block), i < SEEN_DEAR ? i : SEEN_DEAR);
    block->age += 2 * SEEN_RESTS;
    CHECK_EQ(seen_block_move(block), SEEN_DEAR - 2);
    block->age += SEEN_RESTS - 1; /* not long enough */
    CHECK_EQ(seen_block_move(block), SEEN_DEAR - 1);
    block->age = 0; /* periods have become longer */
    CHECK_EQ(seen_block_move(block), SEEN_DEAR);
    block->age = UINT32_MAX;
    CHECK_EQ(seen_block_move(block), 0);
    free(block);
}
