/* Evaluating a policy. See mm/mempolicy/mempolicy.h. */
#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/mempolicy/weight.h"
#include "msg/message.h"

static uint32_t count_of(uint64_t nodes)
{
    return kernel_set_count(nodes);
}

/* Returns the node at position INDEX of NODES, modulo their number. NODES is not empty. */
static uint32_t nth(uint64_t nodes, uint64_t index)
{
    uint32_t count = count_of(nodes);

    for (index = count != 0 ? index % count : 0; index > 0; index--)
        nodes &= nodes - 1;
    return (uint32_t)__builtin_ctzll(nodes);
}

/* Maps each of ASKED, as a position, to a node of NODES. */
static uint64_t relative(uint64_t asked, uint64_t nodes)
{
    uint64_t out = 0;

    for (; asked != 0; asked &= asked - 1)
        out |= 1ull << nth(nodes, (uint32_t)__builtin_ctzll(asked));
    return out;
}

/* Returns the node of NODES, not empty, whose turn INDEX is when each has as many turns in a row as its weight. The
 * same as Linux's weighted_interleave_nid. A weight that changes meanwhile may give any of the nodes. */
static uint32_t weighted(uint64_t nodes, uint64_t index)
{
    uint64_t total = 0, rest = nodes;

    do {
        total += mempolicy_weight((uint32_t)__builtin_ctzll(rest));
        rest &= rest - 1;
    } while (rest != 0);
    index %= total;
    for (rest = nodes; (rest & (rest - 1)) != 0; rest &= rest - 1) {
        uint32_t weight = mempolicy_weight((uint32_t)__builtin_ctzll(rest));

        if (index < weight)
            break;
        index -= weight;
    }
    return (uint32_t)__builtin_ctzll(rest);
}

/* The checks are in Linux's order. */
int mempolicy_make(uint32_t mode, uint64_t asked, bool empty, uint64_t nodes, struct policy *out)
{
    uint32_t flags = mode & POLICY_FLAGS;
    bool numbered = (flags & (POLICY_STATIC | POLICY_RELATIVE)) != 0;

    mode &= ~POLICY_FLAGS;
    if (mode >= POLICY_MODES || (flags & (POLICY_STATIC | POLICY_RELATIVE)) == (POLICY_STATIC | POLICY_RELATIVE) ||
        ((flags & POLICY_BALANCING) != 0 && mode != POLICY_BIND))
        return -EINVAL;
    *out = (struct policy){.mode = (uint16_t)mode, .flags = (uint16_t)flags};
    if (mode == POLICY_DEFAULT) {
        out->flags = 0;
        return empty ? 0 : -EINVAL;
    }
    if (mode == POLICY_LOCAL || (mode == POLICY_PREFERRED && empty)) {
        out->mode = POLICY_LOCAL;
        return !empty || numbered ? -EINVAL : 0;
    }
    if (empty)
        return -EINVAL;
    out->nodes = (flags & POLICY_RELATIVE) != 0 ? relative(asked, nodes) : asked & nodes;
    if (out->nodes == 0)
        return -EINVAL;
    if (mode == POLICY_PREFERRED)
        out->nodes &= -out->nodes;
    out->asked = numbered ? asked : 0;
    return 0;
}

/* The nodes for piece INDEX of memory, of which all have one size. */
static uint64_t nodes_of(const struct policy *policy, uint64_t index, bool *strict)
{
    *strict = policy->mode == POLICY_BIND;
    switch (policy->mode) {
    case POLICY_PREFERRED:
    case POLICY_PREFERRED_MANY:
    case POLICY_BIND:
        return policy->nodes;
    case POLICY_INTERLEAVE: /* by the address, so that it does not matter which kernel touches the page first */
        return 1ull << nth(policy->nodes, index);
    case POLICY_WEIGHTED:
        return 1ull << weighted(policy->nodes, index);
    default:
        return 0;
    }
}

uint64_t mempolicy_nodes(const struct policy *policy, uint64_t page, bool *strict)
{
    return nodes_of(policy, page / PAGE_SIZE, strict);
}

uint64_t mempolicy_block_nodes(const struct policy *policy, uint64_t page)
{
    bool strict;

    return nodes_of(policy, page / (POLICY_BLOCK * PAGE_SIZE), &strict);
}

uint64_t mempolicy_leaves(const struct policy *policy, uint64_t page)
{
    bool strict;

    return policy_interleaves(policy) ? policy->nodes : mempolicy_nodes(policy, page, &strict);
}

bool mempolicy_lets_move(const struct policy *policy, uint64_t page, uint32_t node)
{
    return (policy->flags & POLICY_BY_TARGET) == 0 || (mempolicy_leaves(policy, page) >> node & 1) != 0;
}

bool policy_interleaves(const struct policy *policy)
{
    return policy->mode == POLICY_INTERLEAVE || policy->mode == POLICY_WEIGHTED;
}

bool policy_equal(const struct policy *a, const struct policy *b)
{
    return a->mode == b->mode && a->flags == b->flags && a->home == b->home && a->nodes == b->nodes &&
           a->asked == b->asked;
}

uint32_t mempolicy_remap(uint32_t node, uint64_t from, uint64_t to)
{
    if ((from >> node & 1) == 0)
        return node;
    return nth(to, count_of(from & ((1ull << node) - 1)));
}
