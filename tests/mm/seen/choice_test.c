/* The policies that move memory to those who use it, on made-up histories of accesses.
 * sources: mm/seen/choice.c */
#include "mm/seen/choice.h"

#include <string.h>

#include "tests/test.h"

#define NODES 4u

/* A block, and what a policy makes of it. */
struct block {
    uint16_t used[NODES];
    uint32_t here, last, moves;
};

static uint32_t (*find(const char *name))(const struct seen_view *)
{
    for (uint32_t i = 0; i < SEEN_POLICIES; i++) {
        if (strcmp(seen_policies[i].name, name) == 0)
            return seen_policies[i].choose;
    }
    CHECK(false);
    return NULL;
}

/* NODE is seen at PAGES pages; the block moves as the policy says. */
static void see(struct block *block, const char *policy, uint32_t node, uint16_t pages)
{
    struct seen_view view = {NODES, block->here, node, block->last, block->used};
    uint32_t to;

    block->used[node] = (uint16_t)(block->used[node] + pages);
    to = find(policy)(&view);
    block->last = node;
    if (to == SEEN_STAYS)
        return;
    CHECK(to < NODES && to != block->here);
    block->here = to;
    block->moves++;
}

static struct block new_block(void)
{
    return (struct block){.last = SEEN_STAYS};
}

TEST(seen_none, "none looks for nothing, and the others choose")
{
    CHECK(find("none") == NULL);
    for (uint32_t i = 1; i < SEEN_POLICIES; i++)
        CHECK(seen_policies[i].choose != NULL);
}

TEST(seen_local, "a block that its own node uses stays, whatever the policy")
{
    for (uint32_t i = 1; i < SEEN_POLICIES; i++) {
        struct block block = new_block();

        for (int round = 0; round < 50; round++)
            see(&block, seen_policies[i].name, 0, 16);
        CHECK_EQ(block.moves, 0);
    }
}

TEST(seen_moves, "a block that only another node uses goes there, once")
{
    static const uint32_t looks[SEEN_POLICIES] = {0, 1, 2, 1, 2, 1};

    for (uint32_t i = 1; i < SEEN_POLICIES; i++) {
        struct block block = new_block();

        for (uint32_t round = 1; round <= 50; round++) {
            see(&block, seen_policies[i].name, 3, 16);
            CHECK_EQ(block.here, round < looks[i] ? 0 : 3);
        }
        CHECK_EQ(block.moves, 1);
    }
}

TEST(seen_shared, "a block that two nodes use in turns moves each time with nemo, and stays with the others")
{
    for (uint32_t i = 1; i < SEEN_POLICIES; i++) {
        struct block block = new_block();

        for (uint32_t round = 0; round < 20; round++)
            see(&block, seen_policies[i].name, round % 2, 16);
        CHECK_EQ(block.moves, i == 1 ? 19 : 0);
    }
}

TEST(seen_bounds, "each policy moves a block from its bound on, and not before")
{
    struct block block = new_block();

    block.used[0] = 10;
    see(&block, "threshold", 2, 33); /* 24 more are wanted */
    CHECK_EQ(block.here, 0);
    see(&block, "threshold", 2, 1);
    CHECK_EQ(block.here, 2);

    block = new_block();
    block.used[0] = 10;
    block.used[1] = 5;
    see(&block, "share", 2, 15); /* half */
    CHECK_EQ(block.here, 0);
    see(&block, "share", 2, 1);
    CHECK_EQ(block.here, 2);

    block = new_block();
    block.used[1] = 9;
    see(&block, "filter", 2, 10);
    CHECK_EQ(block.here, 0);
    see(&block, "filter", 2, 1);
    CHECK_EQ(block.here, 2);

    block = new_block();
    see(&block, "two-fault", 1, 1);
    see(&block, "two-fault", 2, 16);
    CHECK_EQ(block.here, 0);
    see(&block, "two-fault", 2, 1);
    CHECK_EQ(block.here, 2);
}
