/* Where the memory of a NUMA group is to be: where most of its threads are.
 * sources: mm/seen/group_node.c kernel/lib/string.c */
#include "mm/seen/group.h"

#include <string.h>

#include "tests/test.h"

static struct seen_groups groups;

/* Two kernels on each node. */
static uint32_t node_of(uint32_t kernel)
{
    return kernel / 2;
}

/* KERNEL has COUNT threads of GROUP, and none of others. */
static uint32_t tell(uint32_t kernel, uint32_t group, uint16_t count, kernel_set members)
{
    struct msg_space_groups told = {.kernel = kernel};

    told.threads[group] = count;
    return groups_note(&groups, &told, members, node_of);
}

TEST(group_most, "a group is where most of its threads are, on all kernels of a node together")
{
    memset(&groups, 0, sizeof(groups));
    CHECK_EQ(tell(0, 3, 3, ~0ull), 1u << 3);
    CHECK_EQ(groups.node[3], 1 + 0);
    CHECK_EQ(tell(4, 3, 2, ~0ull), 0);
    CHECK_EQ(groups.node[3], 1 + 0);
    CHECK_EQ(tell(5, 3, 2, ~0ull), 1u << 3);
    CHECK_EQ(groups.node[3], 1 + 2);
    CHECK_EQ(tell(5, 3, 2, ~0ull), 0);
}

TEST(group_equal, "of nodes with as many threads it keeps the one that it had, and begins with the lowest")
{
    memset(&groups, 0, sizeof(groups));
    CHECK_EQ(tell(4, 1, 2, ~0ull), 1u << 1);
    CHECK_EQ(tell(2, 1, 2, ~0ull), 0);
    CHECK_EQ(tell(0, 1, 2, ~0ull), 0);
    CHECK_EQ(groups.node[1], 1 + 2);
    CHECK_EQ(tell(4, 1, 1, ~0ull), 1u << 1);
    CHECK_EQ(groups.node[1], 1 + 0);
}

TEST(group_none, "a group without threads has no node, or the last one; memory of another group is not its own")
{
    memset(&groups, 0, sizeof(groups));
    CHECK_EQ(tell(0, 15, 0, ~0ull), 0);
    CHECK_EQ(groups.node[15], 0);
    tell(2, 15, 1, ~0ull);
    CHECK_EQ(groups.node[14], 0);
    CHECK_EQ(tell(2, 15, 0, ~0ull), 0);
    CHECK_EQ(groups.node[15], 1 + 1);
}

TEST(group_members, "what a kernel has told counts as long as it is a member")
{
    memset(&groups, 0, sizeof(groups));
    tell(6, 2, 9, ~0ull);
    CHECK_EQ(groups.node[2], 1 + 3);
    CHECK_EQ(tell(0, 2, 1, 1 << 0), 1u << 2);
    CHECK_EQ(groups.node[2], 1 + 0);
}
