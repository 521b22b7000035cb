/* A stride prefetcher: for each instruction that misses, how far apart in lines its last misses were. */
#ifndef TOOLS_PLUGIN_NUMA_PREFETCH_H
#define TOOLS_PLUGIN_NUMA_PREFETCH_H

#include <stdint.h>

#define PREFETCH_ENTRIES 64 /* instructions that are watched */
#define PREFETCH_SURE 2     /* equal strides in a row from which on lines are fetched ahead */

struct prefetch_entry {
    uint64_t pc;
    uint64_t line;
    int64_t stride; /* in lines */
    uint32_t equal; /* how often in a row */
};

struct prefetcher {
    struct prefetch_entry entries[PREFETCH_ENTRIES];
};

/* The instruction at PC missed LINE, or is the first to use it after it was prefetched. Returns the stride by which to
 * fetch ahead, or 0. */
int64_t prefetch_learn(struct prefetcher *prefetcher, uint64_t pc, uint64_t line);

#endif
