/* Threads that are drawn to the memory that they use: by what a kernel was seen to use in a period.
 * sources: mm/seen/draw.c kernel/lib/string.c */
#include "mm/seen/draw.h"

#include <string.h>

#include "tests/test.h"

#define NODES 4u

static uint8_t distance[NODES_MAX][NODES_MAX];
static union {
    struct seen_tally tally;
    char room[sizeof(struct seen_tally) + NODES * sizeof(uint64_t)];
} of;

/* Nodes 0 and 1, and 2 and 3, are near each other. */
static void begin(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t j = 0; j < NODES; j++)
            distance[i][j] = i == j ? 10 : (i ^ j) == 1 ? 14 : 20;
    }
    memset(&of, 0, sizeof(of));
    CHECK_EQ(seen_tally_size(NODES), sizeof(of.room));
}

/* A kernel of node 0 uses memory HERE that kernels of the nodes OTHERS use, too. */
static void use(uint32_t here, uint64_t others, uint32_t weight, bool copied)
{
    struct seen_use one = {.node = 0, .here = here, .weight = 16 * weight, .others = others, .copied = copied};

    seen_tally_see(&of.tally, &one, distance);
}

static bool draws(struct seen_draw *draw)
{
    return seen_tally_draws(&of.tally, NODES, 0, distance, draw);
}

TEST(draw_comes, "who uses what others have on their node is better there: the time is as the distances are")
{
    struct seen_draw draw = {.kernel = 7};

    begin();
    use(2, 1 << 2, 100, false);
    CHECK(draws(&draw));
    CHECK_EQ(draw.node, 2);
    CHECK_EQ(draw.part, DRAW_WHOLE / 2); /* 10 of 20 */
    CHECK_EQ(draw.own, 0);
    CHECK_EQ(draw.kernel, 7);
}

TEST(draw_own, "as much memory of its own as that of others keeps it where it is, and so does any more")
{
    struct seen_draw draw;

    begin();
    use(2, 1 << 2, 100, false);
    use(0, 0, 100, false);
    CHECK(!draws(&draw));
    use(2, 1 << 2, 100, false);
    CHECK(draws(&draw));
    CHECK_EQ(draw.own, DRAW_WHOLE / 3);
    CHECK_EQ(draw.part, (200 * 10 + 100 * 20) * DRAW_WHOLE / (200 * 20 + 100 * 10));
    use(0, 0, 1000, false);
    CHECK(!draws(&draw));
}

static void use_fixed(uint32_t here, uint64_t others, uint32_t weight)
{
    struct seen_use one = {.node = 0, .here = here, .weight = 16 * weight, .others = others, .stays = true};

    seen_tally_see(&of.tally, &one, distance);
}

TEST(draw_fixed, "memory that cannot move is near where it is, whoever uses it")
{
    struct seen_draw draw;

    begin();
    use_fixed(0, 1 << 2, 100); /* it would stay behind */
    use(2, 1 << 2, 50, false);
    CHECK(!draws(&draw));
    begin();
    use(0, 1 << 2, 100, false); /* it would go to its only users */
    use(2, 1 << 2, 50, false);
    CHECK(draws(&draw));
    begin();
    use_fixed(2, 0, 100); /* nobody else uses it, but it does not come */
    CHECK(draws(&draw));
    CHECK_EQ(draw.node, 2);
    begin();
    use_fixed(0, 0, 100);
    use(2, 1 << 2, 50, false);
    CHECK(!draws(&draw));
}

TEST(draw_alone, "what it alone uses comes to it, wherever it is, and does not draw it")
{
    struct seen_draw draw;

    begin();
    use(2, 0, 1000, false);
    use(2, 1 << 0, 1000, false); /* another kernel of its own node */
    CHECK(!draws(&draw));
}

TEST(draw_spread, "memory that has been spread over its users would come to those whom it joins")
{
    struct seen_draw draw;

    begin();
    use(0, 1 << 2, 50, false);
    use(2, 1 << 2, 50, false);
    CHECK(draws(&draw));
    CHECK_EQ(draw.node, 2);
    CHECK_EQ(draw.part, 100 * 10 * DRAW_WHOLE / (50 * 10 + 50 * 20));
}

TEST(draw_stays_spread, "memory that its own node or several others use besides stays: half of each is no reason to go")
{
    struct seen_draw draw;

    begin();
    use(0, 1 << 0 | 1 << 2, 50, false); /* a second thread of its node */
    use(2, 1 << 0 | 1 << 2, 50, false);
    CHECK(!draws(&draw));
    begin();
    use(0, 1 << 1 | 1 << 2, 50, false);
    use(2, 1 << 1 | 1 << 2, 50, false);
    CHECK(!draws(&draw));
}

TEST(draw_copied, "memory with copies is near everywhere")
{
    struct seen_draw draw;

    begin();
    use(2, 1 << 2, 1000, true);
    CHECK(!draws(&draw));
    use(2, 1 << 2, 100, false);
    CHECK(draws(&draw));
    CHECK_EQ(draw.part, (1000 * 10 + 100 * 10) * DRAW_WHOLE / (1000 * 10 + 100 * 20));
}

TEST(draw_most, "it goes to the node of which it uses most, and not at all if that is no better")
{
    struct seen_draw draw;

    begin();
    use(1, 1 << 1, 100, false);
    use(2, 1 << 2, 101, false);
    CHECK(draws(&draw));
    CHECK_EQ(draw.node, 2);
    begin();
    use(1, 1 << 1, 100, false); /* 14 away: from node 2 it would be 20 */
    use(2, 1 << 2, 50, false);
    use(0, 1 << 2 | 1 << 1, 100, false);
    CHECK(!draws(&draw));
}

TEST(draw_enough, "little that was seen says nothing, and what was seen in another period neither")
{
    struct seen_draw draw;

    begin();
    use(2, 1 << 2, DRAW_ENOUGH / 16 - 1, false);
    CHECK(!draws(&draw));
    use(2, 1 << 2, 1, false);
    CHECK(draws(&draw));
    of.tally.refused = 5;
    seen_tally_clear(&of.tally, NODES);
    CHECK(!draws(&draw));
    CHECK_EQ(of.tally.refused, 5);
    use(2, 1 << 2, DRAW_ENOUGH / 16 - 1, false);
    CHECK(!draws(&draw));
}

TEST(draw_no_way_back, "after it has come, nothing draws it back")
{
    struct seen_draw draw;

    begin();
    /* all of it was on the other node, or half of it was here; those who have stayed there use none of it now */
    use(0, 0, 100, false);
    use(2, 0, 100, false);
    CHECK(!draws(&draw));
    begin();
    use(0, 1 << 2, 100, false); /* one has stayed: it is for that one to come */
    CHECK(!draws(&draw));
}
