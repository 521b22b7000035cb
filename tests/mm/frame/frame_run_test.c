/* Frames in a row: blocks that fall apart into pages, runs, and the largest blocks. */
#include "tests/mm/frame/frames.h"

TEST(frame_pages, "a block for pages falls apart into frames that each are counted, and comes together again")
{
    uint32_t before[BLOCK_ORDER_MAX + 1], after[BLOCK_ORDER_MAX + 1];
    uint64_t pages, block;

    begin();
    CHECK_EQ(add(0, ARENA), 0);
    blocks(before);
    pages = free_pages();
    block = frame_alloc_pages(9);
    check_block(block, 9);
    CHECK_EQ(free_pages(), pages - 512);
    for (uint32_t i = 0; i < 512; i++)
        CHECK_EQ(frame_spaces(block + i * PAGE_SIZE), 1);
    CHECK_EQ(frame_spaces(block + 512 * PAGE_SIZE), 0);
    frame_share(block + 7 * PAGE_SIZE);
    for (uint32_t i = 0; i < 512; i++) {
        frame_release(block + (i * 37 % 512) * PAGE_SIZE);
        CHECK_EQ(free_pages(), pages - 511 + i - (i * 37 % 512 == 7 || frame_spaces(block + 7 * PAGE_SIZE) == 1));
    }
    CHECK_EQ(frame_spaces(block + 7 * PAGE_SIZE), 1);
    CHECK(!frame_is_free(block + 7 * PAGE_SIZE) && frame_is_free(block + 8 * PAGE_SIZE));
    frame_release(block + 7 * PAGE_SIZE);
    blocks(after);
    CHECK(memcmp(before, after, sizeof(before)) == 0);
    CHECK_EQ(free_pages(), pages);
}

TEST(frame_pages_reserve, "the last frames are not for pages of programs, in blocks neither")
{
    uint64_t pages, taken_pages = 0;

    begin();
    CHECK_EQ(add(0, ARENA), 0);
    pages = free_pages();
    while (frame_alloc_pages(4) != 0)
        taken_pages += 16;
    CHECK_EQ(free_pages(), pages - taken_pages);
    CHECK(free_pages() >= pages / RESERVE_PART && free_pages() <= pages / RESERVE_PART + 17);
    CHECK_EQ(frame_alloc_pages(9), 0);
}

TEST(frames_in_a_row,
     "frames in a row are as many as were asked for, or as one free block has, and the rest of a block is free")
{
    uint32_t before[BLOCK_ORDER_MAX + 1], after[BLOCK_ORDER_MAX + 1];
    uint64_t pages;

    begin();
    CHECK_EQ(add(0, ARENA), 0);
    blocks(before);
    pages = free_pages();
    CHECK_EQ(frame_alloc_run(2, 1, &(uint32_t){0}), 0); /* memory of another node */
    for (uint32_t most = 1; most <= 512; most = most * 3 / 2 + 1) {
        uint32_t count = 0;
        uint64_t first = frame_alloc_run(1, most, &count);

        CHECK(first != 0);
        CHECK_EQ(count, most);
        CHECK_EQ(free_pages(), pages - most);
        for (uint32_t i = 0; i < count; i++)
            CHECK_EQ(frame_spaces(first + i * PAGE_SIZE), 1);
        CHECK(frame_spaces(first + count * PAGE_SIZE) == 0);
        frame_release_run(first, count);
    }
    cache_drain();
    blocks(after);
    CHECK(memcmp(before, after, sizeof(before)) == 0);
    for (uint32_t count = 0; frame_alloc_run(1, 512, &count) != 0;) /* in the end single frames, and then the reserve */
        CHECK(count >= 1 && count <= 512);
    CHECK(free_pages() >= pages / RESERVE_PART && free_pages() <= pages / RESERVE_PART + 1);
}

static uint64_t blocks_of(uint32_t order)
{
    uint64_t count = 0;

    list_for_each(node, &free_lists[0][order])
        count++;
    return count;
}

TEST(frame_largest, "whole GiB of a range are free blocks, which come apart and together again, and join no further")
{
    static uint64_t blocks[4096];
    uint64_t size = 4ull << 30, whole, count = 0;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CHECK(memory != MAP_FAILED);
    begin();
    CHECK_EQ(frame_add_range(BASE, size - 5 * PAGE_SIZE, (uint64_t)memory - BASE, 0), 0);
    whole = blocks_of(BLOCK_ORDER_MAX);
    CHECK_EQ(whole, 2); /* the bookkeeping is in the first GiB, and the last one is short; both are 2 GiB in a row */
    while (count < 4096 && (blocks[count] = buddy_take(1, FRAME_ORDER_MAX)) != 0)
        count++;
    CHECK(count < 4096 && count >= (whole << BLOCK_ORDER_MAX) >> FRAME_ORDER_MAX);
    for (uint32_t order = FRAME_ORDER_MAX; order <= BLOCK_ORDER_MAX; order++)
        CHECK_EQ(blocks_of(order), 0);
    for (uint64_t i = 0; i < count; i++)
        buddy_give(&buddy_ranges[0], blocks[(i * 37 + 5) % count], FRAME_ORDER_MAX);
    CHECK_EQ(blocks_of(BLOCK_ORDER_MAX), whole);
    CHECK_EQ(buddy_free, buddy_total);
    CHECK_EQ(munmap(memory, size), 0);
}

TEST(frame_of_a_node, "a frame of a node is of its memory, and there is none of it when that is used up")
{
    uint64_t count = 0, frame;

    begin();
    CHECK_EQ(frame_add_range(BASE, ARENA / 4, delta(), 3), 0);
    CHECK_EQ(frame_add_range(BASE + ARENA / 2, ARENA / 4, delta(), 5), 0);
    CHECK_EQ(frame_nodes(), 1ull << 3 | 1ull << 5);
    frame_start_cpu(3);
    CHECK_EQ(frame_alloc_page_on(1ull << 4, false), 0);
    while ((frame = frame_alloc_page_on(1ull << 5, count % 2 == 0)) != 0) {
        CHECK(frame >= BASE + ARENA / 2 && frame < BASE + ARENA / 4 * 3);
        CHECK(count % 2 != 0 || *(const uint64_t *)(const void *)(arena + (frame - BASE)) == 0);
        memset(arena + (frame - BASE), 0x5a, PAGE_SIZE);
        taken[count++] = frame;
    }
    CHECK(count > ARENA / 4 / PAGE_SIZE - 64);
    frame = frame_alloc_page_on(1ull << 5 | 1ull << 3, true);
    CHECK(frame >= BASE && frame < BASE + ARENA / 4);
    frame_free_zeroed(frame); /* what is kept zeroed is not given for another node */
    CHECK_EQ(frame_alloc_page_on(1ull << 5, true), 0);
    while (count > 0)
        frame_free(taken[--count], 0);
    CHECK_EQ(free_pages(), buddy_total);
}

/* Allocates a block of 512 pages, each of which has one reference more if SHARED says so. */
static uint64_t pages_with(const bool *shared)
{
    uint64_t first = frame_alloc_pages(9);

    CHECK(first != 0);
    for (uint64_t i = 0; i < 512; i++) {
        if (shared[i])
            frame_share(first + i * PAGE_SIZE);
    }
    return first;
}

TEST(frame_run, "a run of frames is released as a whole: those that another space has stay, all others are free blocks")
{
    uint32_t before[BLOCK_ORDER_MAX + 1], after[BLOCK_ORDER_MAX + 1];
    bool shared[512];

    for (uint32_t seed = 1; seed <= 20; seed++) {
        uint64_t first, left;

        begin();
        CHECK_EQ(add(0, ARENA), 0);
        left = buddy_free + cache_count(UINT64_MAX);
        blocks(before);
        for (uint32_t i = 0, x = seed; i < 512; i++) {
            x = x * 1103515245 + 12345;
            shared[i] = (x >> 16) % (1 + seed * 3) == 0;
        }
        first = pages_with(shared);
        frame_release_run(first + 7 * PAGE_SIZE, 500);
        for (uint64_t i = 0; i < 512; i++) {
            bool used = shared[i] || i < 7 || i >= 507;

            CHECK_EQ(frame_is_free(first + i * PAGE_SIZE), !used);
            CHECK_EQ(frame_spaces(first + i * PAGE_SIZE), !used ? 0 : 1 + ((i < 7 || i >= 507) && shared[i]));
            left -= used;
        }
        CHECK_EQ(buddy_free + cache_count(UINT64_MAX), left);
        for (uint64_t i = 0; i < 512; i++) {
            while (frame_spaces(first + i * PAGE_SIZE) > 0)
                frame_release_run(first + i * PAGE_SIZE, 1);
        }
        blocks(after);
        CHECK(memcmp(before, after, sizeof(before)) == 0);
        CHECK_PANIC(frame_release_run(first, 2));
        CHECK_PANIC(frame_release_run(BASE + ARENA - PAGE_SIZE, 2));
    }
}

TEST(frame_runs, "frames are gathered as runs upwards and downwards, and released once each")
{
    static const bool none[512];
    struct frame_runs runs = {0};
    uint64_t first, left;

    begin();
    CHECK_EQ(add(0, ARENA), 0);
    left = buddy_free + cache_count(UINT64_MAX);
    first = pages_with(none);
    for (uint64_t i = 0; i < 100; i++)
        CHECK(frame_runs_add(&runs, first + (200 + i) * PAGE_SIZE));
    CHECK_EQ(runs.count, 1);
    for (uint64_t i = 200; i-- > 100;)
        CHECK(frame_runs_add(&runs, first + i * PAGE_SIZE));
    CHECK_EQ(runs.count, 1);
    CHECK_EQ(runs.run[0].first, first + 100 * PAGE_SIZE);
    CHECK_EQ(runs.run[0].pages, 200);
    for (uint64_t i = 1; i < FRAME_RUNS; i++)
        CHECK(frame_runs_add(&runs, first + (i < 50 ? 2 * i - 2 : 300 + 2 * i) * PAGE_SIZE));
    CHECK_EQ(runs.count, FRAME_RUNS);
    CHECK(!frame_runs_add(&runs, first + 510 * PAGE_SIZE));
    frame_runs_drop(&runs, first + 510 * PAGE_SIZE);
    CHECK_EQ(runs.count, 1);
    frame_runs_release(&runs);
    CHECK_EQ(runs.count, 0);
    for (uint64_t i = 0; i < 512; i++) {
        if (frame_spaces(first + i * PAGE_SIZE) > 0)
            frame_release(first + i * PAGE_SIZE);
    }
    CHECK_EQ(buddy_free + cache_count(UINT64_MAX), left);
}

TEST(share_run, "frames in a row get a reference each at once; free ones and those of others are refused")
{
    static const bool none[512];
    uint64_t first;

    begin();
    CHECK_EQ(add(0, ARENA), 0);
    first = pages_with(none);
    frame_share_run(first + 3 * PAGE_SIZE, 5);
    for (uint64_t i = 0; i < 512; i++)
        CHECK_EQ(frame_spaces(first + i * PAGE_SIZE), i >= 3 && i < 8 ? 2 : 1);
    frame_release_run(first, 512);
    for (uint64_t i = 0; i < 512; i++)
        CHECK_EQ(frame_spaces(first + i * PAGE_SIZE), i >= 3 && i < 8 ? 1 : 0);
    CHECK_PANIC(frame_share_run(first + 7 * PAGE_SIZE, 2));
    CHECK_PANIC(frame_share_run(BASE + ARENA - PAGE_SIZE, 2));
}
