/* Where pages that this kernel made came from, by node, as numastat(8) has them. A page was wanted on one node: that of
 * the CPU that touched it, or what its policy says (mm/mempolicy/mempolicy.md). */
#ifndef MM_MEMPOLICY_COUNT_H
#define MM_MEMPOLICY_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct numa_counts {
    uint64_t hit;        /* pages on the node that were wanted there */
    uint64_t miss;       /* that were wanted on another, which had none */
    uint64_t foreign;    /* that were wanted on the node and are on another */
    uint64_t interleave; /* of hit: by policy interleave */
    uint64_t local;      /* of hit and miss: that a CPU of the node touched first */
    uint64_t other;      /* that another's did */
};

/* A page on NODE was made here, for which WANTED was the first choice. Any context. */
void numa_count(uint32_t node, uint32_t wanted, bool interleave);
/* Those of NODE on this kernel, so far. */
void numa_counts_of(uint32_t node, struct numa_counts *out);

#endif
