/* Counters of the pages that this kernel has allocated, by node, as numastat(8) shows them. A page is wanted on one
 * node: that of the CPU that touched it, or the one that its policy names (mm/mempolicy/mempolicy.md). */
#ifndef MM_MEMPOLICY_COUNT_H
#define MM_MEMPOLICY_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct numa_counts {
    uint64_t hit;        /* pages on the node that were wanted there */
    uint64_t miss;       /* pages on the node that were wanted on another one, which had no memory */
    uint64_t foreign;    /* pages that were wanted on the node and are on another one */
    uint64_t interleave; /* of HIT: by policy INTERLEAVE */
    uint64_t local;      /* of HIT and MISS: first touched by a CPU of the node */
    uint64_t other;      /* of HIT and MISS: first touched by a CPU of another node */
};

/* Counts a page that was allocated on NODE and wanted on WANTED. Any context. */
void numa_count(uint32_t node, uint32_t wanted, bool interleave);
/* A page that numa_count has counted as a hit on NODE was interleaved, which its counter did not know. Any context. */
void numa_count_interleaved(uint32_t node);
/* Returns the counters of NODE on this kernel. */
void numa_counts_of(uint32_t node, struct numa_counts *out);

#endif
