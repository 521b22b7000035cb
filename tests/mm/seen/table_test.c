/* The home's table of blocks: what is known of a block is found however many others come and go, and goes along when
 * blocks split and join.
 * sources: mm/seen/table.c mm/seen/region.c mm/seen/block.c mm/seen/draw.c mm/seen/choice.c kernel/lib/string.c */
#include "mm/seen/table.h"

#include "kernel/instance/instance.h"
#include "mm/seen/seen.h"
#include "mm/space/entry.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define BLOCK_BYTES (REGION_USUAL * PAGE_SIZE)
#define NODES 3u

struct instance instance;
static uint64_t now = 1;

uint64_t clock_now(void)
{
    return now++;
}

static void begin(void)
{
    instance.plan.node_count = NODES;
    heap_left = -1;
}

static void end(struct space *space)
{
    struct seen_tables tables;

    seen_destroy(space);
    seen_count(&tables);
    CHECK_EQ(heap_objects, 0);
    CHECK_EQ(tables.small + tables.large, 0);
}

static struct seen_block *make(struct space *space, uint64_t number)
{
    CHECK(seen_table(space, BLOCK_BYTES) != NULL);
    CHECK(seen_make_room(space, 1));
    return seen_make(space->seen, (struct seen_place){number, 1}, 0);
}

/* Node 1 was seen to use COUNT of BLOCK. */
static void used_by_one(struct space *space, struct seen_block *block, uint16_t count)
{
    block->used[1] = count;
    seen_set_last(space->seen, block, 1);
}

TEST(table_grows, "a table grows until it may not, and forgets all then; another size of blocks forgets all, too")
{
    struct space space = {0};
    uint32_t most = 0;

    begin();
    for (uint64_t number = 1; most == 0; number++) {
        if (space.seen != NULL && space.seen->forgotten != 0)
            most = (uint32_t)number;
        else
            used_by_one(&space, make(&space, number), (uint16_t)number);
        for (uint64_t i = number > 70 ? number - 70 : 1; most == 0 && i <= number; i++)
            CHECK(seen_find(space.seen, i)->used[1] == (uint16_t)i || space.seen->count == 1);
    }
    CHECK_EQ(most, 4096 + 2);
    CHECK_EQ(space.seen->count, 1);
    CHECK_EQ(space.seen->last[1], 1);
    seen_forget_others(&space, BLOCK_BYTES);
    CHECK(space.seen != NULL);
    seen_forget_others(&space, 0);
    CHECK(space.seen == NULL);
    end(&space);
}

/* A report that NODE has used each STEP-th page of [FIRST, END) of 2 MiB at START, LOOKS times. */
static bool report(struct space *space, uint64_t start, uint32_t node, uint32_t first, uint32_t end_page, uint32_t step,
                   uint32_t looks, uint32_t age)
{
    struct msg_space_seen seen = {.start = start, .node = (uint16_t)node};
    struct seen_region *region;

    CHECK(seen_table(space, 0) != NULL);
    region = seen_region_of(space->seen, start);
    if (region == NULL)
        region = seen_region_make(space, start);
    if (region == NULL)
        return false;
    for (uint32_t page = first; page < end_page; page += step)
        seen_add(&seen, page);
    for (uint32_t i = 0; i < looks; i++)
        seen_region_see(region, &seen, age);
    return seen_adapt(space, region, age);
}

/* The known block of ADDRESS, which has SIZE pages; one that is unused: it is not known. */
static struct seen_block *block_of(struct space *space, uint64_t address, uint32_t size)
{
    struct seen_place place = seen_place_of(space->seen, address);
    struct seen_block *block = seen_find(space->seen, place.number);

    CHECK_EQ(place.size, size);
    CHECK(seen_start(space->seen, place) <= address &&
          address < seen_start(space->seen, place) + seen_bytes(space->seen, place));
    CHECK(block->number == 0 || block->size == size);
    return block;
}

static struct seen_block *know(struct space *space, uint64_t address)
{
    struct seen_place place = seen_place_of(space->seen, address);
    struct seen_block *block = seen_find(space->seen, place.number);

    if (block->number != 0)
        return block;
    CHECK(seen_make_room(space, 1));
    return seen_make(space->seen, place, 0);
}

TEST(table_adapts, "a block that splits leaves each part the counts of its users, and blocks that join add theirs up")
{
    struct space space = {0};
    uint64_t start = 5 * LEAF_SIZE;
    struct seen_block *block;

    begin();
    CHECK(report(&space, start, 1, 0, 1, 1, 1, 0));
    block = know(&space, start);
    block->used[0] = 100; /* which nobody is seen to do any more */
    block->used[1] = 60;
    block->used[2] = 30;
    seen_block_see(block, space.seen->load, 2, 10, true, 0);
    seen_block_place(block, NODES, space.seen->load, 0, 1);
    CHECK_EQ(space.seen->load[0], 10 * 16);
    block->wanted = 2;
    space.seen->wanted = 1;

    CHECK(report(&space, start, 1, 0, 8, 1, REGION_SURE, 0));
    CHECK(report(&space, start, 2, 8, 12, 1, REGION_SURE, 0));
    CHECK_EQ(space.stats.seen_splits, 2);
    CHECK_EQ(space.seen->count, 2);
    CHECK_EQ(block_of(&space, start, 8)->used[1], 60);
    CHECK_EQ(block_of(&space, start, 8)->used[2], 0);
    CHECK_EQ(block_of(&space, start + 8 * PAGE_SIZE, 8)->used[2], 40);
    CHECK_EQ(block_of(&space, start + 9 * PAGE_SIZE, 8)->used[0], 0);
    CHECK_EQ(space.seen->wanted, 0); /* decided anew */
    CHECK_EQ(space.seen->load[0], 0);
    CHECK_EQ(seen_before(space.seen, seen_place_of(space.seen, start + 8 * PAGE_SIZE)).number,
             seen_place_of(space.seen, start).number);
    CHECK_EQ(seen_after(space.seen, seen_place_of(space.seen, start + 8 * PAGE_SIZE)).size, REGION_USUAL);

    CHECK(report(&space, start, 1, 0, 32, 1, REGION_SURE, 0));
    CHECK_EQ(space.stats.seen_joins, 1);
    CHECK_EQ(space.seen->count, 1);
    block = block_of(&space, start + 31 * PAGE_SIZE, 32);
    CHECK_EQ(block->used[1], 8 * 60 / 32);
    CHECK_EQ(block->used[2], 8 * 40 / 32);
    CHECK(block->written != 0);
    CHECK_EQ(seen_find(space.seen, start / PAGE_SIZE + 1 + 8)->number, 0);
    end(&space);
}

TEST(table_many, "whatever splits and joins, each known block is found once, and the sums are theirs")
{
    struct space space = {0};
    uint32_t random = 7;

    begin();
    for (uint32_t round = 0; round < 3000; round++) {
        uint64_t start;
        uint32_t known = 0, wanted = 0, load[NODES] = {0}, last[NODES] = {0};

        random = random * 1664525 + 1013904223;
        start = (random >> 28) * LEAF_SIZE;
        if (!report(&space, start, random >> 8 & 1 ? 1 : 2, random >> 12 & 0x1f, 32u << (random >> 9 & 3),
                    1 + (random >> 20 & 1), REGION_SURE, round / 20))
            continue;
        for (uint32_t page = 0; page < 64; page += 1 + (random >> 22 & 7)) {
            struct seen_block *block = know(&space, start + page * PAGE_SIZE);

            seen_block_see(block, space.seen->load, page % NODES, 7, page % 5 == 0, round / 20);
            seen_block_place(block, NODES, space.seen->load, page % 2, round + 1);
            seen_set_last(space.seen, block, page % NODES);
            space.seen->wanted += block->wanted == SEEN_NOBODY;
            block->wanted = 1;
        }
        for (uint32_t i = 0; i < space.seen->places; i++) {
            const struct seen_block *block = seen_block_at(space.seen, i);
            struct seen_place place;

            if (block->number == 0)
                continue;
            known++;
            wanted += block->wanted != SEEN_NOBODY;
            if (block->load != SEEN_NOBODY)
                load[block->load] += block->weight;
            if (block->last != SEEN_NOBODY)
                last[block->last]++;
            place = seen_place_of(space.seen, (block->number - 1) * PAGE_SIZE);
            CHECK(seen_find(space.seen, block->number) == block);
            CHECK(place.number == block->number && place.size == block->size);
        }
        CHECK_EQ(known, space.seen->count);
        CHECK_EQ(wanted, space.seen->wanted);
        for (uint32_t node = 0; node < NODES; node++) {
            CHECK_EQ(load[node], space.seen->load[node]);
            CHECK_EQ(last[node], space.seen->last[node]);
        }
    }
    CHECK(space.stats.seen_splits > 100 && space.stats.seen_joins > 100);
    end(&space);
}

TEST(table_memory, "without memory blocks stay as they are, and nothing is lost")
{
    struct space space = {0};

    begin();
    for (uint32_t i = 0; i < 31; i++) {
        CHECK(report(&space, i * LEAF_SIZE, 1, 0, 1, 1, 1, 0));
        know(&space, i * LEAF_SIZE)->used[1] = 9;
    }
    CHECK(report(&space, 0, 2, 0, 8, 1, REGION_SURE, 0));
    heap_left = 0;
    CHECK(!report(&space, 0, 1, 8, 16, 1, REGION_SURE, 0));
    CHECK_EQ(block_of(&space, 0, REGION_USUAL)->used[1], 9);
    CHECK(seen_region_make(&space, 40 * LEAF_SIZE) == NULL);
    heap_left = -1;
    CHECK(report(&space, 0, 1, 8, 16, 1, 1, 0));
    block_of(&space, 0, 8);
    end(&space);
}

TEST(table_regions, "beyond 2 GiB of regions all is forgotten")
{
    struct space space = {0};
    uint32_t made = 0;

    begin();
    while (report(&space, made * LEAF_SIZE, 1, 0, 1, 1, 1, 0)) {
        space.seen->tally_age = 1;
        made++;
    }
    CHECK_EQ(made, 1024);
    CHECK_EQ(space.seen->tally_age, 0);
    CHECK_EQ(space.seen->region_count, 0);
    CHECK(space.seen->forgotten != 0);
    CHECK(report(&space, 0, 1, 0, 1, 1, 1, 0));
    end(&space);
}
