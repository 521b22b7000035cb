/* Counters of pages by node. See the header. Nearly every page costs one addition. */
#include "mm/mempolicy/count.h"

#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/cpu.h"

enum { HIT_LOCAL, HIT_OTHER, MISS_LOCAL, MISS_OTHER, FOREIGN, INTERLEAVE, KINDS };

static uint64_t counts[NODES_MAX][KINDS]; /* [a] */

static void add(uint32_t node, uint32_t kind)
{
    if (cpu_several)
        __atomic_fetch_add(&counts[node][kind], 1, __ATOMIC_RELAXED);
    else
        counts[node][kind]++;
}

void numa_count(uint32_t node, uint32_t wanted, bool interleave)
{
    bool local = cpu_self()->node == node;

    if (node == wanted) {
        add(node, local ? HIT_LOCAL : HIT_OTHER);
        if (interleave)
            add(node, INTERLEAVE);
        return;
    }
    add(node, local ? MISS_LOCAL : MISS_OTHER);
    add(wanted, FOREIGN);
}

void numa_count_interleaved(uint32_t node)
{
    add(node, INTERLEAVE);
}

void numa_counts_of(uint32_t node, struct numa_counts *out)
{
    uint64_t of[KINDS];

    for (uint32_t i = 0; i < KINDS; i++)
        of[i] = __atomic_load_n(&counts[node][i], __ATOMIC_RELAXED);
    *out = (struct numa_counts){.hit = of[HIT_LOCAL] + of[HIT_OTHER],
                                .miss = of[MISS_LOCAL] + of[MISS_OTHER],
                                .foreign = of[FOREIGN],
                                .interleave = of[INTERLEAVE],
                                .local = of[HIT_LOCAL] + of[MISS_LOCAL],
                                .other = of[HIT_OTHER] + of[MISS_OTHER]};
}
