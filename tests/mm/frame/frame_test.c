/* Frames and blocks: taken, given back, zeroed, kept, lent and counted. */
#include "tests/mm/frame/frames.h"

TEST(frame_orders,
     "a block of every order is aligned to its size, and freeing it restores the free blocks as they were")
{
    begin();
    CHECK_EQ(add(0, ARENA), 0);
    for (uint32_t order = 0; order <= FRAME_ORDER_MAX; order++) {
        uint32_t before[BLOCK_ORDER_MAX + 1], after[BLOCK_ORDER_MAX + 1];
        uint64_t pages = free_pages();
        uint64_t frame;

        blocks(before);
        frame = frame_alloc_sure(order);
        CHECK(frame != 0);
        check_block(frame, order);
        CHECK_EQ(free_pages(), pages - (1ull << order));
        release(frame, order);
        blocks(after);
        CHECK_EQ(free_pages(), pages);
        CHECK(memcmp(before, after, sizeof(before)) == 0);
    }
}

TEST(frame_too_large, "an order that does not exist gets nothing")
{
    begin();
    CHECK_EQ(add(0, ARENA), 0);
    CHECK_EQ(frame_alloc_sure(FRAME_ORDER_MAX + 1), 0);
    CHECK_EQ(frame_alloc_sure(40), 0);
}

TEST(frame_exhaust, "every page but the bookkeeping is handed out once, then none, and freeing all merges to the start")
{
    uint32_t before[BLOCK_ORDER_MAX + 1], after[BLOCK_ORDER_MAX + 1];
    uint64_t state = 1, pages;
    size_t count;

    begin();
    CHECK_EQ(add(0, ARENA), 0);
    blocks(before);
    pages = free_pages();
    CHECK(pages >= FRAMES - FRAMES * sizeof(struct frame) / PAGE_SIZE - 1);
    count = exhaust(0, taken, FRAMES);
    CHECK_EQ(count, pages);
    CHECK_EQ(free_pages(), 0);
    CHECK_EQ(frame_alloc_zeroed(), 0);
    for (size_t i = count; i > 1; i--) { /* in random order */
        size_t other = (size_t)test_below(&state, i);
        uint64_t swap = taken[i - 1];

        taken[i - 1] = taken[other];
        taken[other] = swap;
    }
    for (size_t i = 0; i < count; i++)
        release(taken[i], 0);
    blocks(after);
    CHECK(memcmp(before, after, sizeof(before)) == 0);
    CHECK_EQ(free_pages(), pages);
}

TEST(frame_odd_sizes, "a range of any number of pages, at any page, is used to its last page and not beyond")
{
    uint64_t state = 2;

    for (int round = 0; round < 200; round++) {
        uint64_t start = test_below(&state, 2000);
        uint64_t pages = 2 + test_below(&state, 3000);
        uint64_t used = (pages * sizeof(struct frame) + PAGE_SIZE - 1) / PAGE_SIZE;
        uint32_t before[BLOCK_ORDER_MAX + 1], after[BLOCK_ORDER_MAX + 1];
        size_t count;

        begin();
        memset(arena, 0xcc, 6000 * PAGE_SIZE);
        CHECK_EQ(add(start * PAGE_SIZE, pages * PAGE_SIZE), 0);
        blocks(before);
        count = exhaust(0, taken, FRAMES);
        CHECK_EQ(count, pages - used);
        for (uint64_t i = 0; i < 6000; i++) {
            CHECK_EQ(owner[i] != 0, i >= start + used && i < start + pages);
            CHECK(i >= start && i < start + pages ? true : arena[i * PAGE_SIZE] == 0xcc);
        }
        for (size_t i = 0; i < count; i++)
            release(taken[i], 0);
        blocks(after);
        CHECK(memcmp(before, after, sizeof(before)) == 0);
    }
}

TEST(frame_too_small, "a range that its own bookkeeping fills is refused and changes nothing")
{
    begin();
    CHECK_EQ(add(0, 0), -ENOMEM);
    CHECK_EQ(add(0, PAGE_SIZE - 1), -ENOMEM);
    CHECK_EQ(add(0, PAGE_SIZE), -ENOMEM);
    CHECK_EQ(free_pages(), 0);
    CHECK_EQ(add(0, 2 * PAGE_SIZE), 0);
    CHECK_EQ(free_pages(), 1);
}

TEST(frame_many_ranges, "blocks never cross from one range into its neighbour, and ranges beyond the limit are refused")
{
    uint64_t frame;

    begin();
    for (uint64_t i = 0; i < RANGES_MAX; i++)
        CHECK_EQ(add(i * 64 * PAGE_SIZE, 64 * PAGE_SIZE), 0);
    CHECK_EQ(add(RANGES_MAX * 64 * PAGE_SIZE, 64 * PAGE_SIZE), -E2BIG);
    CHECK_EQ(free_pages(), RANGES_MAX * 63);
    CHECK_EQ(frame_alloc_sure(6), 0); /* 64 pages: each range has lost one */
    for (uint64_t i = 0; i < RANGES_MAX; i++) {
        frame = frame_alloc_sure(5);
        CHECK(frame != 0);
        check_block(frame, 5);
    }
    CHECK_EQ(frame_alloc_sure(5), 0);
    CHECK_EQ(exhaust(0, taken, FRAMES), RANGES_MAX * 31);
}

TEST(frame_zeroed, "a zeroed frame is zero, whatever was in it")
{
    uint64_t taken[64], count = 0, frame;

    begin();
    CHECK_EQ(add(0, 64 * PAGE_SIZE), 0);
    while ((taken[count] = frame_alloc_sure(0)) != 0)
        memset(arena + (taken[count++] - BASE), 0xff, PAGE_SIZE);
    while (count > 0)
        frame_free(taken[--count], 0);
    frame = frame_alloc_zeroed();
    CHECK(frame != 0);
    for (uint64_t i = 0; i < PAGE_SIZE; i++)
        CHECK_EQ(arena[frame - BASE + i], 0);
}

TEST(frame_zeroed_back,
     "a zeroed frame that is given back counts as free, comes again first, and is there for others in need")
{
    uint32_t before[BLOCK_ORDER_MAX + 1], after[BLOCK_ORDER_MAX + 1];
    uint64_t pages;

    begin();
    CHECK_EQ(add(0, 2 * ZEROED_MAX * PAGE_SIZE), 0);
    blocks(before);
    pages = free_pages();
    for (uint64_t i = 0; i < ZEROED_MAX + 4; i++) {
        taken[i] = frame_alloc_zeroed();
        *(uint64_t *)(void *)(arena + (taken[i] - BASE)) = 0;
    }
    for (uint64_t i = 0; i < ZEROED_MAX + 4; i++)
        frame_free_zeroed(taken[i]);
    CHECK_EQ(free_pages(), pages);
    CHECK(frame_is_free(taken[0]) && frame_is_free(taken[ZEROED_MAX + 3]));
    CHECK_EQ(frame_alloc_zeroed(), taken[ZEROED_MAX - 1]);
    for (uint64_t i = 0; i < PAGE_SIZE; i++)
        CHECK_EQ(arena[taken[ZEROED_MAX - 1] - BASE + i], 0);
    CHECK_EQ(free_pages(), pages - 1);
    frame_free_zeroed(taken[ZEROED_MAX - 1]);
    CHECK_PANIC(frame_free_zeroed(taken[ZEROED_MAX - 1]));
    CHECK_EQ(exhaust(0, taken, FRAMES), pages); /* all of them, whatever they were kept for */
    CHECK_EQ(frame_alloc_zeroed(), 0);
    for (uint64_t i = 0; i < pages; i++)
        frame_free(taken[i], 0);
    blocks(after);
    CHECK(memcmp(before, after, sizeof(before)) == 0);
}

TEST(frame_zeroed_ahead, "an idle CPU zeroes frames, as many as it keeps; each is zero when it is taken, whatever was "
                         "in it, and dirty frames "
                         "come from elsewhere")
{
    uint64_t pages, frame, ahead = 0;

    begin();
    memset(arena, 0xff, ARENA);
    CHECK_EQ(add(0, ARENA), 0);
    pages = free_pages();
    while (frame_idle())
        ahead++;
    CHECK_EQ(ahead, ZEROED_MAX);
    CHECK_EQ(free_pages(), pages);
    CHECK(!frame_idle());
    frame = frame_alloc(0);
    CHECK_EQ(arena[frame - BASE + PAGE_SIZE - 1], 0xff);
    for (uint64_t taken_ahead = 0; taken_ahead < ZEROED_MAX + 2; taken_ahead++) {
        frame = frame_alloc_page(true);
        for (uint64_t i = 0; i < PAGE_SIZE; i++)
            CHECK_EQ(arena[frame - BASE + i], 0);
        check_block(frame, 0);
    }
    CHECK_EQ(free_pages(), pages - ZEROED_MAX - 3);
}

TEST(frame_zeroed_in_order, "frames that are zeroed ahead are taken in a row, in whatever order others were given back")
{
    uint64_t count = DIRTY_MAX / 2, pages;

    begin();
    CHECK_EQ(add(0, ARENA), 0);
    pages = free_pages();
    for (uint64_t i = 0; i < count; i++)
        taken[i] = frame_alloc(0);
    for (uint64_t i = 0; i < count; i++)
        frame_free(taken[i * 37 % count], 0);
    for (uint32_t i = 0; i < 1u << REFILL_ORDER; i++)
        CHECK(frame_idle());
    for (uint64_t i = 0; i < 1u << REFILL_ORDER; i++) {
        taken[i] = frame_alloc_zeroed();
        CHECK_EQ(taken[i], taken[0] + i * PAGE_SIZE);
    }
    CHECK_EQ(caches[0].dirty.count, count);
    while (frame_idle())
        ;
    CHECK_EQ(caches[0].dirty.count, 0); /* returned, so that the next ones are in a row, too */
    CHECK_EQ(frame_alloc(0) + PAGE_SIZE, frame_alloc(0));
    CHECK_EQ(free_pages(), pages - (1u << REFILL_ORDER) - 2);
    CHECK(cache_drain());
    CHECK_EQ(buddy_free, pages - (1u << REFILL_ORDER) - 2);
}

static void check_zero(uint64_t frame)
{
    for (uint64_t i = 0; i < PAGE_SIZE; i++)
        CHECK_EQ(arena[frame - BASE + i], 0);
}

TEST(frame_pages_in_order,
     "pages in a row have frames in a row, but for the few that were given back last, and are zero where it matters")
{
    uint64_t count = DIRTY_MAX / 2, last = 0;

    begin();
    memset(arena, 0xff, ARENA);
    CHECK_EQ(add(0, ARENA), 0);
    for (uint64_t i = 0; i < count; i++)
        taken[i] = frame_alloc(0);
    for (uint64_t i = 0; i < count; i++)
        frame_free(taken[i * 37 % count], 0);
    for (uint64_t i = 1; i <= RECENT_MAX; i++) {
        CHECK_EQ(frame_alloc_page(i % 2 == 0), taken[(count - i) * 37 % count]);
        if (i % 2 == 0)
            check_zero(taken[(count - i) * 37 % count]);
    }
    for (uint64_t i = 0; i < 2u << REFILL_ORDER; i++) {
        uint64_t frame = frame_alloc_page(i % 2 == 0);

        CHECK(frame == last + PAGE_SIZE || i % (1u << REFILL_ORDER) == 0);
        if (i % 2 == 0)
            check_zero(frame);
        last = frame;
    }
    CHECK_EQ(caches[0].dirty.count, count - RECENT_MAX);
    frame_free(last, 0);
    CHECK_EQ(frame_alloc_page(false), last);
    while (caches[0].dirty.count > DIRTY_IDLE) /* what needs no order takes them */
        frame_alloc(0);
    last = caches[0].dirty.first;
    CHECK_EQ(frame_alloc_page(false), last);
}

TEST(frame_zeroed_ahead_scarce, "no frame is zeroed ahead when few are in free blocks, and all kept ones become blocks")
{
    uint64_t pages, count;

    begin();
    CHECK_EQ(add(0, ARENA), 0);
    pages = free_pages();
    while (frame_idle())
        ;
    count = exhaust(9, taken, FRAMES);
    CHECK_EQ(count, pages / 512); /* the kept frames as well: the first range of 512 is not whole */
    CHECK(!frame_idle());
}

TEST(frame_zeroed_ahead_node, "zeroing ahead ends on a node without free blocks, while another node has plenty")
{
    uint64_t count = 0, frame, idle = 0;

    begin();
    CHECK_EQ(frame_add_range(BASE, ARENA / 4, delta(), 0), 0);
    CHECK_EQ(frame_add_range(BASE + ARENA / 4, ARENA / 4 * 3, delta(), 1), 0);
    frame_start_cpu(0);
    while ((frame = frame_alloc_page_on(1, false)) != 0)
        taken[count++] = frame;
    CHECK(buddy_free > buddy_total / AHEAD_PART);
    for (uint32_t i = 0; i < 3; i++)
        frame_free(taken[--count], 0);
    while (idle < 1000 && frame_idle())
        idle++;
    CHECK_EQ(idle, 3);
    CHECK_EQ(caches[0].zeroed.count, 3);
}

TEST(frame_kept, "a CPU that frees many frames keeps some and returns the others to the free blocks")
{
    uint64_t count = 4 * DIRTY_MAX;

    begin();
    CHECK_EQ(add(0, ARENA), 0);
    for (uint64_t i = 0; i < count; i++)
        taken[i] = frame_alloc(0);
    for (uint64_t i = 0; i < count; i++)
        frame_free(taken[i], 0);
    CHECK(cache_count(1) > 0 && cache_count(1) <= DIRTY_MAX);
    CHECK_EQ(cache_count(~1ull), 0);
    CHECK_EQ(buddy_free + cache_count(1), buddy_total);
    CHECK_EQ(frame_alloc(0), taken[count - 1]); /* the one whose contents a CPU's cache may still have */
}

TEST(frame_order, "frames in a row that a space gives back are taken in the same order again, however few they are")
{
    begin();
    CHECK_EQ(add(0, ARENA), 0);
    for (uint64_t count = 2; count < RUN_LEAST; count++) {
        uint64_t first = frame_alloc_pages(4), again;

        frame_release_run(first + count * PAGE_SIZE, 16 - count);
        cache_drain();
        frame_release_run(first, count);
        for (uint64_t i = 0; i < count; i++) {
            again = frame_alloc(0);
            CHECK_EQ(again, first + i * PAGE_SIZE);
            taken[i] = again;
        }
        for (uint64_t i = 0; i < count; i++)
            frame_free(taken[i], 0);
    }
}

TEST(frame_last_blocks,
     "the last frames are not the scattered ones that a CPU keeps: objects of several pages find blocks")
{
    begin();
    CHECK_EQ(add(0, 8 << 20), 0);
    for (uint64_t i = 0; i < 400; i++)
        taken[i] = frame_alloc_page(true);
    for (uint64_t i = 0; i < 400; i += 2)
        frame_free_zeroed(taken[i]);
    while (frame_alloc_page(false) != 0)
        ;
    CHECK_EQ(free_pages(), reserve);
    CHECK(frame_alloc_sure(4) != 0);
}

TEST(frame_notes,
     "a block that is allocated has an empty note, whatever its frames' last owners noted, and keeps its own")
{
    begin();
    CHECK_EQ(add(0, 64 * PAGE_SIZE), 0);
    for (uint32_t round = 0; round < 3; round++) {
        uint32_t order = round % 2;
        uint64_t count = 0;

        while ((taken[count] = frame_alloc_sure(order)) != 0) {
            CHECK_EQ(*frame_note(taken[count]), 0);
            *frame_note(taken[count++]) = 0x5a5a;
        }
        CHECK(count > 1);
        for (uint64_t i = 0; i < count; i++) {
            CHECK_EQ(*frame_note(taken[i]), 0x5a5a);
            frame_free(taken[i], order);
        }
        taken[0] = order == 0 ? frame_alloc_zeroed() : frame_alloc_sure(0); /* as it was kept by the CPU */
        CHECK_EQ(*frame_note(taken[0]), 0);
        frame_free(taken[0], 0);
    }
}

TEST(frame_lent, "a frame that is lent is counted")
{
    struct frame_stats stats;

    begin();
    CHECK_EQ(add(0, 64 * PAGE_SIZE), 0);
    frame_lend();
    frame_lend();
    frame_stats(&stats);
    CHECK_EQ(stats.lent, 2);
    CHECK_EQ(stats.total, 63);
}

TEST(frame_spaces_count, "a frame of spaces is freed when the last one releases it, and by nobody before")
{
    uint64_t state = 5, taken[40], free;
    uint32_t spaces[40] = {0};

    begin();
    CHECK_EQ(add(0, 64 * PAGE_SIZE), 0);
    free = free_pages();
    for (int i = 0; i < 40; i++) {
        taken[i] = frame_alloc_sure(0);
        CHECK_EQ(frame_spaces(taken[i]), 0);
        frame_share(taken[i]);
        spaces[i] = 1;
    }
    for (int step = 0; step < 2000; step++) {
        uint64_t i = test_below(&state, 40);

        CHECK_EQ(frame_spaces(taken[i]), spaces[i]);
        if (spaces[i] == 0)
            continue;
        if (test_below(&state, 2) == 0 && step < 1500) {
            frame_share(taken[i]);
            spaces[i]++;
        } else {
            frame_release(taken[i]);
            spaces[i]--;
        }
    }
    for (int i = 0; i < 40; i++) {
        for (; spaces[i] > 0; spaces[i]--)
            frame_release(taken[i]);
    }
    CHECK_EQ(free_pages(), free);
}

TEST(frame_spaces_wrong, "a release too many, a free while a space has the frame and a share of a free one panic")
{
    uint64_t frame, block;

    begin();
    CHECK_EQ(add(0, 64 * PAGE_SIZE), 0);
    frame = frame_alloc_sure(0);
    block = frame_alloc_sure(1);
    CHECK_PANIC(frame_release(frame));
    memset(&lock, 0, sizeof(lock));
    frame_share(frame);
    CHECK_PANIC(frame_free(frame, 0));
    memset(&lock, 0, sizeof(lock));
    CHECK_PANIC(frame_share(block));
    memset(&lock, 0, sizeof(lock));
    frame_release(frame);
    CHECK_PANIC(frame_share(frame));
    memset(&lock, 0, sizeof(lock));
    CHECK_PANIC(frame_share(BASE + ARENA));
    memset(&lock, 0, sizeof(lock));
    CHECK_EQ(frame_spaces(frame), 0);
    CHECK_EQ(frame_spaces(frame + 1), 0);
    CHECK(!frame_is_free(BASE + ARENA));
    CHECK_EQ(frame_spaces(BASE + ARENA), 0);
}

TEST(frame_wrong_free, "freeing twice, with another order, inside a block, off a page or elsewhere panics")
{
    uint64_t block;

    begin();
    CHECK_EQ(add(0, ARENA), 0);
    block = frame_alloc_sure(3);
    CHECK_PANIC(frame_free(block, 2));
    lock.held = 0;
    CHECK_PANIC(frame_free(block, 4));
    lock.held = 0;
    CHECK_PANIC(frame_free(block + PAGE_SIZE, 0));
    lock.held = 0;
    CHECK_PANIC(frame_free(block + 8, 3));
    lock.held = 0;
    CHECK_PANIC(frame_free(BASE + ARENA, 0));
    lock.held = 0;
    CHECK_PANIC(frame_free(BASE, 0)); /* the bookkeeping */
    lock.held = 0;
    frame_free(block, 3);
    CHECK_PANIC(frame_free(block, 3));
}

static bool root;

static bool is_root(void)
{
    return root;
}

static uint64_t told; /* of objects that are refused */

static void count_refused(void)
{
    told++;
}

TEST(frame_refused_heard,
     "who decides about a process hears of each frame that a kernel object is refused, and of no page")
{
    root = false;
    begin();
    frame_set_privileged(is_root);
    frame_set_refused(count_refused);
    told = 0;
    CHECK_EQ(add(0, 32 << 20), 0);
    while (frame_alloc_page(true) != 0)
        continue;
    while (frame_alloc_table() != 0)
        continue;
    CHECK_EQ(told, 1); /* and not of the page */
    CHECK_EQ(frame_alloc_zeroed(), 0);
    CHECK_EQ(told, 2);
    frame_refused(FRAME_ORDER_COSTLY + 1); /* worth nobody's end */
    CHECK_EQ(told, 2);
    frame_set_refused(NULL);
}

TEST(frame_reserve,
     "users' pages leave frames to tables and objects, those to root's, and all to what nobody can refuse")
{
    uint64_t pages = 0, tables = 0, of_root = 0, sure = 0;

    begin();
    frame_set_privileged(is_root);
    CHECK_EQ(add(0, 32 << 20), 0);
    while (frame_alloc_page(pages % 2 == 0) != 0)
        pages++;
    CHECK(frame_is_short() && !frame_is_low());
    CHECK(!frame_is_lacking(0) && !frame_is_lacking(6)); /* a full kernel as such is worth nobody's end */
    root = true;
    CHECK(frame_is_lacking(0) && frame_is_lacking(FRAME_ORDER_ROOT) && !frame_is_lacking(FRAME_ORDER_ROOT + 1));
    root = false;
    while ((tables % 2 == 0 ? frame_alloc_table() : frame_alloc(0)) != 0)
        tables++;
    CHECK(frame_is_low());
    CHECK(frame_is_lacking(FRAME_ORDER_COSTLY) && !frame_is_lacking(FRAME_ORDER_COSTLY + 1));
    CHECK_EQ(frame_alloc_page(true), 0);
    CHECK_EQ(frame_alloc_zeroed(), 0);
    CHECK_EQ(frame_alloc(0), 0);
    root = true;
    while (frame_alloc_page(true) != 0)
        of_root++;
    CHECK(of_root >= reserve / 4 - 1);
    while (frame_alloc_zeroed() != 0)
        of_root++;
    CHECK_EQ(frame_alloc_table(), 0);
    root = false;
    while (frame_alloc_sure(0) != 0)
        sure++;
    CHECK_EQ(pages + tables + of_root + sure, buddy_total);
    CHECK_EQ(tables + of_root + sure, reserve);
    CHECK(reserve >= buddy_total / 64 && tables >= reserve / 4 && of_root >= reserve / 2 - 1 && sure > 0);
}

TEST(frame_random, "random blocks over three ranges agree with a map of pages, and all freed they merge to the start")
{
    static struct {
        uint64_t frame;
        uint32_t order;
    } held[4096];
    uint32_t before[BLOCK_ORDER_MAX + 1], after[BLOCK_ORDER_MAX + 1];
    uint64_t state = 3, pages;
    size_t count = 0;

    begin();
    CHECK_EQ(add(PAGE_SIZE, 5 << 20), 0);
    CHECK_EQ(add(8 << 20, (9 << 20) + 3 * PAGE_SIZE), 0);
    CHECK_EQ(add((32 << 20) + 7 * PAGE_SIZE, 20 << 20), 0);
    blocks(before);
    pages = free_pages();
    for (int step = 0; step < 100000; step++) {
        uint32_t order = (uint32_t)test_below(&state, 11);

        if (test_below(&state, 3) != 0 && count < 4096) {
            uint64_t frame = frame_alloc_sure(test_below(&state, 2) != 0 ? order : order / 4);

            order = frame == 0 ? 0 : range_frame(range_of(frame), frame)->order;
            if (frame != 0) {
                check_block(frame, order);
                held[count].frame = frame;
                held[count++].order = order;
            }
        } else if (count > 0) {
            size_t which = (size_t)test_below(&state, count);

            release(held[which].frame, held[which].order);
            held[which] = held[--count];
        }
        if (step % 1000 == 0) {
            uint64_t used = 0;

            for (uint64_t i = 0; i < FRAMES; i++) {
                const struct range *range = range_of(BASE + i * PAGE_SIZE);

                used += owner[i] != 0;
                CHECK_EQ(frame_is_free(BASE + i * PAGE_SIZE), range != NULL && owner[i] == 0);
            }
            CHECK_EQ(free_pages(), pages - used);
        }
    }
    while (count > 0) {
        count--;
        release(held[count].frame, held[count].order);
    }
    blocks(after);
    CHECK(memcmp(before, after, sizeof(before)) == 0);
}
