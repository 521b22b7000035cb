/* What NUMA policies say.
 * sources: mm/mempolicy/choice.c mm/mempolicy/weight.c kernel/lib/string.c */
#include "mm/mempolicy/mempolicy.h"

#include "boot/options/control.h"
#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "kernel/instance/instance.h"
#include "mm/mempolicy/weight.h"
#include "tests/test.h"

struct instance instance;
static struct option *weights;

int option_add(struct option *option)
{
    weights = option;
    return 0;
}

static struct policy make(uint32_t mode, uint64_t asked, uint64_t nodes)
{
    struct policy policy;

    CHECK_EQ(mempolicy_make(mode, asked, asked == 0, nodes, &policy), 0);
    return policy;
}

TEST(policy_refused, "modes and nodes that contradict are refused as Linux refuses them")
{
    struct policy policy;

    CHECK_EQ(mempolicy_make(POLICY_MODES, 1, false, 3, &policy), -EINVAL);
    CHECK_EQ(mempolicy_make(POLICY_DEFAULT, 1, false, 3, &policy), -EINVAL);
    CHECK_EQ(mempolicy_make(POLICY_LOCAL, 1, false, 3, &policy), -EINVAL);
    CHECK_EQ(mempolicy_make(POLICY_LOCAL | POLICY_STATIC, 0, true, 3, &policy), -EINVAL);
    CHECK_EQ(mempolicy_make(POLICY_BIND, 0, true, 3, &policy), -EINVAL);
    CHECK_EQ(mempolicy_make(POLICY_BIND, 4, false, 3, &policy), -EINVAL); /* a node that there is not */
    CHECK_EQ(mempolicy_make(POLICY_BIND | POLICY_STATIC | POLICY_RELATIVE, 1, false, 3, &policy), -EINVAL);
    CHECK_EQ(mempolicy_make(POLICY_INTERLEAVE | POLICY_BALANCING, 1, false, 3, &policy), -EINVAL);
    CHECK_EQ(mempolicy_make(POLICY_PREFERRED | POLICY_STATIC, 0, true, 3, &policy), -EINVAL);
    CHECK_EQ(make(POLICY_PREFERRED, 0, 3).mode, POLICY_LOCAL);
    CHECK_EQ(make(POLICY_BIND | POLICY_BALANCING, 1, 3).flags, POLICY_BALANCING);
}

TEST(policy_numbers, "nodes are those asked for that there are, the first one, or counted among them")
{
    CHECK_EQ(make(POLICY_BIND, 0xfe, 0x0f).nodes, 0x0e);
    CHECK_EQ(make(POLICY_PREFERRED, 0xfe, 0x0f).nodes, 0x02);
    CHECK_EQ(make(POLICY_INTERLEAVE | POLICY_STATIC, 0xfe, 0x0f).asked, 0xfe);
    CHECK_EQ(make(POLICY_INTERLEAVE, 0xfe, 0x0f).asked, 0);
    CHECK_EQ(make(POLICY_BIND | POLICY_RELATIVE, 0x05, 0xa8).nodes, 0x88); /* the first and the third of 3, 5, 7 */
    CHECK_EQ(make(POLICY_BIND | POLICY_RELATIVE, 0x20, 0xa8).nodes, 0x80); /* the sixth: in turn the third */
    CHECK_EQ(make(POLICY_BIND, 1ull << 63, ~0ull).nodes, 1ull << 63);
}

TEST(policy_says, "interleaving goes round by address, and only binding is strict")
{
    struct policy policy = make(POLICY_INTERLEAVE, 0x2c, 0xff);
    uint32_t seen[64] = {0};
    bool strict = true;

    for (uint64_t page = 0; page < 30; page++) {
        uint64_t nodes = mempolicy_nodes(&policy, 0x7f0000000000 + page * PAGE_SIZE, &strict);

        CHECK(!strict && nodes != 0 && (nodes & (nodes - 1)) == 0 && (nodes & ~0x2cull) == 0);
        seen[__builtin_ctzll(nodes)]++;
    }
    CHECK(seen[2] == 10 && seen[3] == 10 && seen[5] == 10);
    policy = make(POLICY_BIND, 6, 7);
    CHECK(mempolicy_nodes(&policy, 0, &strict) == 6 && strict);
    policy = make(POLICY_PREFERRED_MANY, 6, 7);
    CHECK(mempolicy_nodes(&policy, 0, &strict) == 6 && !strict);
    policy = make(POLICY_LOCAL, 0, 7);
    CHECK(mempolicy_nodes(&policy, 0, &strict) == 0 && !strict);
    policy = make(POLICY_DEFAULT, 0, 7);
    CHECK(mempolicy_nodes(&policy, 0, &strict) == 0 && !strict);
}

TEST(policy_blocks,
     "large pages are interleaved one by one, and all pages of one have one node; other policies say the same")
{
    const uint64_t bytes = POLICY_BLOCK * PAGE_SIZE;
    struct policy policy = make(POLICY_INTERLEAVE, 0x2c, 0xff);
    uint32_t seen[64] = {0};
    bool strict;

    for (uint64_t block = 0; block < 9; block++) {
        uint64_t nodes = mempolicy_block_nodes(&policy, block * bytes);

        CHECK(nodes != 0 && (nodes & (nodes - 1)) == 0 && (nodes & ~0x2cull) == 0);
        seen[__builtin_ctzll(nodes)]++;
        for (uint64_t page = 1; page < POLICY_BLOCK; page += 17)
            CHECK_EQ(mempolicy_block_nodes(&policy, block * bytes + page * PAGE_SIZE), nodes);
        CHECK(block == 0 || nodes != mempolicy_block_nodes(&policy, (block - 1) * bytes));
    }
    CHECK(seen[2] == 3 && seen[3] == 3 && seen[5] == 3);
    policy = make(POLICY_BIND, 6, 7);
    CHECK_EQ(mempolicy_block_nodes(&policy, 12345 * PAGE_SIZE), mempolicy_nodes(&policy, 12345 * PAGE_SIZE, &strict));
    policy = make(POLICY_LOCAL, 0, 7);
    CHECK_EQ(mempolicy_block_nodes(&policy, 0), 0);
}

TEST(policy_weights, "a node gets as many pages in a row as its weight, and one without a weight")
{
    struct policy policy = make(POLICY_WEIGHTED, 0x15, 0x1f);
    static const uint32_t turns[] = {0, 0, 0, 2, 4, 4};
    bool strict = true;

    instance.plan.node_count = 5;
    weight_init();
    CHECK(weights->check("0:3,4:2,1:255") && !weights->check("0:3,5:1") && weights->check("default"));
    weights->set("0:3,4:2,1:255"); /* node 1 is not asked for */
    for (uint64_t page = 0; page < 60; page++) {
        CHECK_EQ(mempolicy_nodes(&policy, page * PAGE_SIZE, &strict), 1ull << turns[page % 6]);
        CHECK(!strict);
    }
    weights->set("0:1,4:0");
    for (uint64_t page = 0; page < 6; page++)
        CHECK_EQ(mempolicy_nodes(&policy, page * PAGE_SIZE, &strict), 1ull << page % 3 * 2);
    weights->set("default");
    CHECK_EQ(mempolicy_weight(1), 1);
    policy = make(POLICY_WEIGHTED, 1ull << 63, ~0ull);
    weights->set("63:255");
    CHECK_EQ(mempolicy_nodes(&policy, 1000 * PAGE_SIZE, &strict), 1ull << 63);
    weights->set("default");
}

TEST(policy_counterparts, "the nth of one set becomes the nth of the other")
{
    CHECK_EQ(mempolicy_remap(1, 0x06, 0x30), 4);
    CHECK_EQ(mempolicy_remap(2, 0x06, 0x30), 5);
    CHECK_EQ(mempolicy_remap(2, 0x07, 0x30), 4); /* in turn */
    CHECK_EQ(mempolicy_remap(3, 0x07, 0x30), 3); /* not meant */
}

TEST(policy_leaves, "a page stays on any node of its policy, and only a CPU of these moves it if that was asked for")
{
    struct policy policy = make(POLICY_INTERLEAVE, 0x2c, 0xff);

    CHECK_EQ(mempolicy_leaves(&policy, 7 * PAGE_SIZE), 0x2c);
    policy = make(POLICY_WEIGHTED, 6, 7);
    CHECK_EQ(mempolicy_leaves(&policy, 0), 6);
    policy = make(POLICY_PREFERRED, 6, 7);
    CHECK_EQ(mempolicy_leaves(&policy, 0), 2);
    CHECK(mempolicy_lets_move(&policy, 0, 0) && mempolicy_lets_move(&policy, 0, 1));
    policy.flags |= POLICY_BY_TARGET;
    CHECK(!mempolicy_lets_move(&policy, 0, 0) && mempolicy_lets_move(&policy, 0, 1));
    policy = make(POLICY_LOCAL, 0, 7);
    CHECK_EQ(mempolicy_leaves(&policy, 0), 0);
    CHECK(mempolicy_lets_move(&policy, 0, 2));
}
