/* The policies that move memory to those who use it, on histories of accesses: those of single bounds, and those that
 * the phases of numabench make (userland/bench/numa).
 * sources: mm/seen/choice.c */
#include "mm/seen/choice.h"

#include <stdio.h>
#include <string.h>

#include "tests/test.h"

#define NODES 4u
#define MEMORY 0xfull
#define PAGES 15u     /* what a look counts of a block in which everything was accessed */
#define BLOCKS 8u     /* of each node in the phases */
#define PERIOD 2u     /* looks after which counts are halved */
#define MOVE_COST 640 /* of a block, in pages and units of distance: 64 lines of 10 ns */

static uint8_t distance[NODES_MAX][NODES_MAX];

/* A block, and what a policy makes of it. */
struct block {
    uint16_t used[NODES];
    uint32_t here, last, moves;
    uint32_t written; /* not 0: lately */
    bool replicated;
    uint64_t number;
};

static uint32_t load[NODES]; /* pages of blocks with several users of each node */
static bool settled = true;
static uint32_t group = SEEN_STAYS; /* the home node of the group of all blocks */
static bool waits;                  /* its users may still come to a block */
static uint32_t weight = PAGES;     /* of the block in a load */

static const struct seen_policy *find(const char *name)
{
    uint32_t index = seen_policy_find(name);

    CHECK(index < SEEN_POLICIES);
    return &seen_policies[index];
}

/* Nodes 0 and 1, and 2 and 3, are near each other. */
static void square(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t j = 0; j < NODES; j++)
            distance[i][j] = i == j ? 10 : (i ^ j) == 1 ? 14 : 20;
    }
}

/* NODE is seen at PAGES pages of BLOCK, which moves as POLICY says. */
static void see_in(uint32_t home, struct block *block, const struct seen_policy *policy, uint32_t node, uint16_t pages,
                   const struct block *before, const struct block *after)
{
    struct seen_view view = {.nodes = NODES,
                             .memory = MEMORY,
                             .block = block->number,
                             .here = block->here,
                             .home = home,
                             .group = group,
                             .now = node,
                             .pages = pages,
                             .fresh = block->last == SEEN_STAYS,
                             .last = block->last,
                             .written = block->written,
                             .replicated = block->replicated,
                             .used = block->used,
                             .load = load,
                             .weight = weight,
                             .settled = settled,
                             .waits = waits,
                             .before = before != NULL ? before->used : NULL,
                             .after = after != NULL ? after->used : NULL,
                             .distance = distance};
    uint32_t to;

    block->used[node] = (uint16_t)(block->used[node] + pages);
    to = policy->choose(&view);
    block->last = node;
    if (to == SEEN_REPLICATE)
        block->replicated = true;
    if (to == SEEN_STAYS || to == SEEN_REPLICATE)
        return;
    CHECK(to < NODES && to != block->here);
    block->here = to;
    block->moves++;
}

static void see(struct block *block, const char *policy, uint32_t node, uint16_t pages)
{
    square();
    see_in(0, block, find(policy), node, pages, NULL, NULL);
}

static struct block new_block(void)
{
    return (struct block){.last = SEEN_STAYS};
}

/* A block that is written, and so not worth copies. */
static struct block new_written(void)
{
    return (struct block){.last = SEEN_STAYS, .written = 1};
}

TEST(seen_none, "none looks for nothing, the others choose, and a name that does not exist is none of them")
{
    CHECK(find("none")->choose == NULL);
    for (uint32_t i = 1; i < SEEN_POLICIES; i++) {
        CHECK(seen_policies[i].choose != NULL);
        CHECK_EQ(seen_policy_find(seen_policies[i].name), i);
    }
    CHECK_EQ(seen_policy_find("best"), SEEN_POLICIES);
    CHECK_EQ(seen_policy_find(""), SEEN_POLICIES);
}

TEST(seen_draws, "kettle alone moves threads, too")
{
    for (uint32_t i = 0; i < SEEN_POLICIES; i++)
        CHECK_EQ(seen_policies[i].draws, strcmp(seen_policies[i].name, "kettle") == 0);
}

TEST(seen_kettle_waits,
     "kettle spreads nothing whose users may still come to it; who uses it alone, and copies, do not wait")
{
    struct block block = new_written(), alone = new_written(), read = new_block();

    memset(load, 0, sizeof(load));
    load[0] = 100 * PAGES;
    waits = true;
    see(&block, "kettle", 0, PAGES);
    see(&block, "kettle", 1, PAGES);
    see(&block, "kettle", 1, PAGES);
    CHECK_EQ(block.here, 0);
    see(&alone, "kettle", 1, PAGES);
    see(&alone, "kettle", 1, PAGES);
    CHECK_EQ(alone.here, 1);
    see(&read, "kettle", 0, PAGES);
    see(&read, "kettle", 1, PAGES);
    CHECK(read.replicated);
    waits = false;
    see(&block, "kettle", 1, PAGES);
    CHECK_EQ(block.here, 1);
    memset(load, 0, sizeof(load));
}

TEST(seen_group, "memory of a group goes to the group's home node, whoever uses it, and other memory stays")
{
    struct block block = new_block();

    see(&block, "group", 3, PAGES);
    CHECK_EQ(block.here, 0);
    group = 2;
    see(&block, "group", 3, PAGES);
    CHECK_EQ(block.here, 2);
    see(&block, "group", 2, PAGES);
    see(&block, "group", 0, PAGES);
    CHECK_EQ(block.here, 2);
    group = 1;
    see(&block, "group", 2, 1);
    CHECK_EQ(block.here, 1);
    CHECK_EQ(block.moves, 2);
    group = SEEN_STAYS;
}

TEST(seen_choices, "a process chooses a policy, a way to see accesses, or both, and nothing else")
{
    static const char *const wrong[] = {"",
                                        ",",
                                        ",faults",
                                        "nemo,",
                                        "nemo,eyes",
                                        "nemo,faults,",
                                        "nemo,faults,faults",
                                        "best",
                                        "first-touchfirst-touchfirst-touch",
                                        "default,default"};

    CHECK_EQ(seen_choice_of("default"), 0);
    CHECK_EQ(seen_choice_policy(seen_choice_of("nemo")), 1 + seen_policy_find("nemo"));
    CHECK_EQ(seen_choice_way(seen_choice_of("nemo")), 0);
    CHECK_EQ(seen_choice_way(seen_choice_of("default,accessed")), 1 + SEEN_BY_BITS);
    CHECK_EQ(seen_choice_policy(seen_choice_of("default,faults")), 0);
    for (uint32_t i = 0; i < SEEN_POLICIES; i++) {
        char text[40];
        uint32_t choice;

        snprintf(text, sizeof(text), "%s,faults", seen_policies[i].name);
        choice = seen_choice_of(text);
        CHECK(seen_choice_valid(choice));
        CHECK_EQ(seen_choice_policy(choice), 1 + i);
        CHECK_EQ(seen_choice_way(choice), 1 + SEEN_BY_FAULTS);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK_EQ(seen_choice_of(wrong[i]), SEEN_NO_CHOICE);
    CHECK(!seen_choice_valid(SEEN_POLICIES + 1) && !seen_choice_valid(3 << 6) && !seen_choice_valid(256));
}

TEST(seen_local, "a block that its own node uses stays, whatever the policy")
{
    for (uint32_t i = 1; i < SEEN_POLICIES; i++) {
        struct block block = new_block(); /* number 0: in turn it is on node 0 as well */

        for (int round = 0; round < 50; round++)
            see(&block, seen_policies[i].name, 0, PAGES);
        CHECK_EQ(block.moves, 0);
    }
}

TEST(seen_moves, "a block that only another node uses goes there, once, by each policy that follows accesses")
{
    static const struct {
        const char *name;
        uint32_t looks; /* 0: never */
    } rows[] = {{"nemo", 1},     {"two-fault", 2}, {"share", 1},       {"threshold", 2},
                {"filter", 1},   {"moron", 1},     {"uniform", 1},     {"hop", 1},
                {"variance", 1}, {"neighbour", 1}, {"first-touch", 0}, {"interleave", 0},
                {"home", 0},     {"kettle", 2},    {"replicate", 2},   {"group", 0}};

    CHECK_EQ(sizeof(rows) / sizeof(rows[0]), SEEN_POLICIES - 1);
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct block block = new_block();

        for (uint32_t round = 1; round <= 50; round++) {
            see(&block, rows[i].name, 3, PAGES);
            CHECK_EQ(block.here, rows[i].looks != 0 && round >= rows[i].looks ? 3 : 0);
        }
        CHECK_EQ(block.moves, rows[i].looks != 0);
    }
}

TEST(seen_shared, "a block that two nodes use in turns moves each time with nemo and moron, and stays with the others")
{
    for (uint32_t i = 1; i < SEEN_POLICIES; i++) {
        struct block block = new_block();
        bool restless = seen_policies[i].choose == find("nemo")->choose;

        for (uint32_t round = 0; round < 20; round++)
            see(&block, seen_policies[i].name, round % 2, PAGES);
        CHECK_EQ(block.moves, restless ? 19 : 0);
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

    block = new_block();
    block.used[0] = 10;
    see(&block, "uniform", 2, 10);
    CHECK_EQ(block.here, 0);
    see(&block, "uniform", 2, 1);
    CHECK_EQ(block.here, 2);

    /* three nodes lower by 2 satisfy the formula, 3 * 4 >= 4 * 3; lower by 1 they do not; one that is lower by 4 does
     */
    block = new_block();
    block.used[0] = block.used[1] = block.used[3] = 9;
    see(&block, "variance", 2, 10);
    CHECK_EQ(block.here, 0);
    see(&block, "variance", 2, 1);
    CHECK_EQ(block.here, 2);
    block = new_block();
    block.used[0] = 4;
    block.used[1] = 3;
    see(&block, "variance", 2, 5); /* 1 + 4 + 25 */
    CHECK_EQ(block.here, 2);
}

TEST(seen_readings, "the two readings of the filter differ: a far lower node satisfies the formula, not the text")
{
    struct block text = new_block(), formula = new_block();

    text.used[0] = formula.used[0] = 9;
    see(&text, "filter", 2, 10);
    see(&formula, "variance", 2, 10);
    CHECK_EQ(text.here, 0);
    CHECK_EQ(formula.here, 2);
}

TEST(seen_hop, "hop chooses the node that is near to all users, where uniform takes the greatest one")
{
    struct block uniform = new_block(), hop = new_block();

    uniform.here = hop.here = 1;
    uniform.used[2] = hop.used[2] = 8; /* near to node 3 */
    uniform.used[3] = hop.used[3] = 7;
    see(&uniform, "uniform", 0, 10);
    see(&hop, "hop", 0, 10);
    CHECK_EQ(uniform.here, 0); /* 10 * 10 + 15 * 20 = 400 */
    CHECK_EQ(hop.here, 2);     /* 8 * 10 + 7 * 14 + 10 * 20 = 378 */
}

TEST(seen_neighbour, "neighbour moves a block whose own accesses are even to where the blocks at its sides are used")
{
    struct block block = new_block(), before = new_block(), after = new_block();

    square();
    block.used[0] = 8;
    see_in(0, &block, find("neighbour"), 3, 8, &before, NULL);
    CHECK_EQ(block.here, 0);
    before.used[3] = 5;
    after.used[3] = 4;
    see_in(0, &block, find("neighbour"), 3, 0, &before, &after);
    CHECK_EQ(block.here, 3);
}

TEST(seen_places, "interleave spreads blocks over the nodes in turn, and home takes them to the process's home")
{
    for (uint32_t number = 0; number < 2 * NODES; number++) {
        struct block block = new_block(), other = new_block();

        square();
        block.number = number;
        see_in(2, &block, find("interleave"), 3, 1, NULL, NULL);
        CHECK_EQ(block.here, number % NODES);
        other.here = number % NODES;
        see_in(2, &other, find("home"), 3, 1, NULL, NULL);
        CHECK_EQ(other.here, 2);
    }
}

TEST(seen_kettle, "kettle takes a block to its only user, when a look shows enough of it, and not at the first look")
{
    struct block block = new_written();

    block.used[0] = 26; /* a sixteenth of what node 2 uses: a user still */
    block.last = 2;
    see(&block, "kettle", 2, 415);
    CHECK_EQ(block.here, 0);
    see(&block, "kettle", 2, 5);
    CHECK_EQ(block.here, 2);

    block = new_written();
    see(&block, "kettle", 2, 100); /* the first look */
    CHECK_EQ(block.here, 0);

    block = new_written();
    block.last = 2;
    for (int look = 0; look < 20; look++)
        see(&block, "kettle", 2, 1); /* as many pages moved for one */
    CHECK_EQ(block.here, 0);
    see(&block, "kettle", 2, 2);
    CHECK_EQ(block.here, 2);
}

/* Blocks COUNT of node 0 that the nodes below USERS use, as the home counts their load. Returns how many moved. */
static uint32_t share_out(struct block *blocks, uint32_t count, uint32_t users, uint32_t looks)
{
    uint32_t moves = 0;

    for (uint32_t look = 0; look < looks; look++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t here = blocks[i].here;

            see(&blocks[i], "kettle", look % users, PAGES);
            load[here] -= PAGES;
            load[blocks[i].here] += PAGES;
            moves += blocks[i].here != here;
        }
    }
    return moves;
}

TEST(seen_spread, "kettle spreads blocks that several nodes use evenly over these, and leaves them when they are")
{
    for (uint32_t users = 2; users <= NODES; users++) {
        struct block blocks[BLOCKS];
        uint32_t on[NODES] = {0};

        memset(load, 0, sizeof(load));
        load[0] = BLOCKS * PAGES;
        for (uint32_t i = 0; i < BLOCKS; i++) {
            blocks[i] = new_written();
            blocks[i].number = i;
            blocks[i].last = 0;
            for (uint32_t node = 0; node < users; node++)
                blocks[i].used[node] = (uint16_t)(20 + 10 * node); /* shares do not matter */
        }
        share_out(blocks, BLOCKS, users, 20);
        for (uint32_t i = 0; i < BLOCKS; i++)
            on[blocks[i].here]++;
        for (uint32_t node = 0; node < users; node++)
            CHECK(on[node] >= BLOCKS / users && on[node] <= BLOCKS / users + 1);
        CHECK_EQ(share_out(blocks, BLOCKS, users, 40), 0);
    }
    memset(load, 0, sizeof(load));
}

TEST(seen_balanced, "kettle leaves blocks that two nodes use where they are, if each node has as many of them")
{
    struct block block = new_written();

    load[0] = load[1] = 4 * PAGES;
    block.last = 1;
    block.used[0] = 15;
    for (int look = 0; look < 20; look++)
        see(&block, "kettle", 1, PAGES);
    CHECK_EQ(block.moves, 1); /* in the end node 1 alone uses it */
    block = new_written();
    block.last = 1;
    for (int look = 0; look < 20; look++) {
        see(&block, "kettle", 0, PAGES);
        see(&block, "kettle", 1, PAGES);
    }
    CHECK_EQ(block.moves, 0);
    block.here = 3; /* which does not use it */
    load[1] = 3;
    settled = false;
    see(&block, "kettle", 1, PAGES);
    CHECK_EQ(block.here, 3);
    settled = true;
    see(&block, "kettle", 1, PAGES);
    CHECK_EQ(block.here, 1);
    memset(load, 0, sizeof(load));
}

TEST(seen_small_report,
     "kettle does not take a block for evenness by what one report has shown, but by what the block weighs")
{
    struct block block = new_written();

    block.last = 1;
    block.used[0] = block.used[1] = 50;
    load[0] = 4 * PAGES;
    load[1] = 3 * PAGES;
    for (int look = 0; look < 20; look++)
        see(&block, "kettle", (uint32_t)look % 2, 2);
    CHECK_EQ(block.moves, 0); /* the other node had as much more then */
    load[1] = 2 * PAGES;
    see(&block, "kettle", 1, 2);
    CHECK_EQ(block.here, 1);
    memset(load, 0, sizeof(load));
}

TEST(seen_nearly_even, "kettle does not take a block from one node to another that has nearly as much load")
{
    for (uint32_t more = 0; more < 20; more++) {
        struct block block = new_written();

        block.last = 1;
        block.used[0] = block.used[1] = 50;
        load[1] = 90;
        load[0] = 90 + 5 * more;
        see(&block, "kettle", 1, PAGES);
        CHECK_EQ(block.here, load[0] >= 150); /* five to three */
    }
    memset(load, 0, sizeof(load));
}

TEST(seen_nobody, "a block whose counts are all zero has no user")
{
    uint16_t used[NODES] = {0};

    CHECK_EQ(seen_users(used, NODES), 0);
    used[2] = 1;
    CHECK_EQ(seen_users(used, NODES), 4);
}

TEST(seen_far, "kettle does not take a block that several nodes use where the way from all of them is far longer")
{
    struct block block = new_written();

    square();
    distance[3][0] = distance[3][1] = 40;
    load[0] = load[1] = 100;
    block.last = 1;
    block.used[0] = block.used[1] = 50;
    see_in(0, &block, find("kettle"), 3, 50, NULL, NULL);
    CHECK_EQ(block.here, 0);
    distance[3][0] = distance[3][1] = 20;
    see_in(0, &block, find("kettle"), 3, 4, NULL, NULL);
    CHECK_EQ(block.here, 3);
    memset(load, 0, sizeof(load));
}

/* --- the phases of numabench: each node uses the blocks of one list with all its pages in each look --- */

enum phase { LOCAL, SHARED, MIXED, UNFAVOURABLE, PHASES };

/* Whether NODE uses the list that was made on OWNER, in look LOOK of LOOKS. */
static bool uses(enum phase phase, uint32_t node, uint32_t owner, uint32_t look, uint32_t looks)
{
    uint32_t left = (node + NODES - 1) % NODES;

    switch (phase) {
    case LOCAL:
        return node == owner;
    case SHARED:
        return owner == 0;
    case MIXED: /* the share of the neighbour's list grows from none to all */
        return look * 10 / looks > look % 10 ? owner == left : owner == node;
    default:
        return owner == left;
    }
}

static void grow_old(struct block blocks[NODES * BLOCKS])
{
    for (uint32_t i = 0; i < NODES * BLOCKS; i++) {
        for (uint32_t node = 0; node < NODES; node++)
            blocks[i].used[node] /= 2;
    }
}

/* What the accesses of LOOKS looks cost by POLICY (NULL: nothing moves), in pages and units of distance, with what
 * moves cost. */
static uint64_t cost_of(enum phase phase, const struct seen_policy *policy, uint32_t looks)
{
    struct block blocks[NODES * BLOCKS];
    uint64_t cost = 0;

    square();
    for (uint32_t i = 0; i < NODES * BLOCKS; i++) {
        blocks[i] = new_block();
        blocks[i].here = i / BLOCKS;
        blocks[i].number = i;
    }
    for (uint32_t look = 0; look < looks; look++) {
        for (uint32_t i = 0; i < NODES * BLOCKS; i++) {
            struct block *block = &blocks[i];
            uint32_t here = block->here, moves = block->moves;

            for (uint32_t node = 0; node < NODES; node++)
                cost += uses(phase, node, i / BLOCKS, look, looks) ? PAGES * distance[here][node] : 0;
            for (uint32_t node = 0; policy != NULL && node < NODES; node++) {
                if (uses(phase, node, i / BLOCKS, look, looks))
                    see_in(0, block, policy, node, PAGES, i > 0 ? &blocks[i - 1] : NULL,
                           i + 1 < NODES * BLOCKS ? &blocks[i + 1] : NULL);
            }
            cost += (block->moves - moves) * MOVE_COST;
        }
        if (look % PERIOD == PERIOD - 1)
            grow_old(blocks);
    }
    return cost;
}

TEST(seen_replicate,
     "what several nodes read gets copies, also after a write that is long ago; what they write does not")
{
    struct block block = new_block();

    see(&block, "replicate", 0, PAGES);
    settled = false;
    see(&block, "replicate", 1, 1);
    CHECK(!block.replicated && block.moves == 0); /* who writes may not have been seen yet */
    settled = true;
    see(&block, "replicate", 1, 1);
    CHECK(block.replicated);
    for (int round = 0; round < 10; round++) /* it stays where it is, also when one node alone uses it */
        see(&block, "replicate", 1, PAGES);
    CHECK_EQ(block.moves, 0);
    block = new_block();
    block.written = 1;
    for (int round = 0; round < 10; round++)
        see(&block, "replicate", (uint32_t)round % NODES, PAGES);
    CHECK(!block.replicated);
    CHECK_EQ(block.moves, 0);
    block.written = 0;
    see(&block, "replicate", 2, 1);
    CHECK(block.replicated);
    for (uint32_t i = 1; i < SEEN_POLICIES; i++) { /* no other policy wants copies */
        block = new_block();
        for (int round = 0; round < 20; round++)
            see(&block, seen_policies[i].name, (uint32_t)round % NODES, PAGES);
        CHECK_EQ(block.replicated,
                 strcmp(seen_policies[i].name, "replicate") == 0 || strcmp(seen_policies[i].name, "kettle") == 0);
    }
}

TEST(seen_kettle_copies,
     "kettle gives copies of what several nodes have used for a while and nobody has written, and then leaves it")
{
    struct block block = new_block();

    load[0] = 100; /* else it would go to node 1 */
    settled = false;
    for (uint32_t round = 0; round < 20; round++)
        see(&block, "kettle", round % 2, PAGES);
    CHECK(!block.replicated && block.moves == 0);
    settled = true;
    see(&block, "kettle", 1, PAGES);
    CHECK(block.replicated && block.moves == 0);
    for (uint32_t round = 0; round < 20; round++)
        see(&block, "kettle", 1, PAGES);
    CHECK_EQ(block.moves, 0);
    block = new_written();
    see(&block, "kettle", 0, PAGES);
    see(&block, "kettle", 1, PAGES);
    CHECK(!block.replicated);
    CHECK_EQ(block.here, 1);
    block = new_block();
    see(&block, "kettle", 1, PAGES);
    see(&block, "kettle", 1, PAGES); /* one user */
    CHECK(!block.replicated);
    CHECK_EQ(block.here, 1);
    memset(load, 0, sizeof(load));
}

TEST(seen_phases, "misplaced lists come home with filter and kettle, and nobody pays who only counts")
{
    for (enum phase phase = LOCAL; phase < PHASES; phase++) {
        uint64_t none = cost_of(phase, NULL, 200), first = cost_of(phase, find("first-touch"), 200);

        CHECK_EQ(none, first);
    }
    /* two of the neighbours are 20 away, two 14 */
    CHECK(100 * cost_of(UNFAVOURABLE, find("filter"), 200) <= 105 * cost_of(LOCAL, NULL, 200));
    CHECK(100 * cost_of(UNFAVOURABLE, find("kettle"), 200) <= 105 * cost_of(LOCAL, NULL, 200));
    CHECK_EQ(cost_of(LOCAL, find("kettle"), 200), cost_of(LOCAL, NULL, 200));
    CHECK(cost_of(SHARED, find("nemo"), 200) > cost_of(SHARED, NULL, 200)); /* what NEMO is known to be bad at */
}
