/* Where most threads of a group are: a pure function, for tests on the host. See group.h. */
#include "kernel/lib/string.h"
#include "mm/seen/group.h"

/* The node with most of the threads of GROUP, 1 + its number; of several, the one that it has, else the lowest. */
static uint8_t home_of(const struct seen_groups *groups, uint32_t group, uint32_t (*node_of)(uint32_t kernel))
{
    uint32_t sums[NODES_MAX] = {0}, best = 0, had = groups->node[group];

    for (uint32_t kernel = 0; kernel < KERNELS_MAX; kernel++) {
        if (groups->threads[kernel][group] != 0)
            sums[node_of(kernel)] += groups->threads[kernel][group];
    }
    for (uint32_t node = 1; node < NODES_MAX; node++)
        best = sums[node] > sums[best] ? node : best;
    if (sums[best] == 0 || (had != 0 && sums[had - 1] == sums[best]))
        return (uint8_t)had;
    return (uint8_t)(best + 1);
}

uint32_t groups_note(struct seen_groups *groups, const struct msg_space_groups *told, kernel_set members,
                     uint32_t (*node_of)(uint32_t kernel))
{
    uint32_t moved = 0;
    bool same = memcmp(groups->threads[told->kernel], told->threads, sizeof(told->threads)) == 0;

    memcpy(groups->threads[told->kernel], told->threads, sizeof(told->threads));
    for (uint32_t kernel = 0; kernel < KERNELS_MAX; kernel++) {
        if (kernel == told->kernel || (members >> kernel & 1) != 0 || (groups->any >> kernel & 1) == 0)
            continue;
        memset(groups->threads[kernel], 0, sizeof(groups->threads[kernel]));
        groups->any &= ~(1ull << kernel);
        same = false;
    }
    groups->any |= 1ull << told->kernel;
    if (same)
        return 0;
    for (uint32_t group = 1; group < NUMA_GROUPS; group++) {
        uint8_t node = home_of(groups, group, node_of);

        moved |= (uint32_t)(node != groups->node[group]) << group;
        groups->node[group] = node;
    }
    return moved;
}
