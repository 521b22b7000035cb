/* What is counted of each CPU under a NUMA model, behind the instructions (tools/plugin/region.h), and then, for each
 * node, the lines that came from its memory. The names are those of the output. */
#ifndef TOOLS_PLUGIN_NUMA_COUNTERS_H
#define TOOLS_PLUGIN_NUMA_COUNTERS_H

#include "tools/plugin/region.h"

/* X(name in code, name in the output) */
#define NUMA_COUNTERS(X)                                                                                               \
    X(REFERENCES, references)           /* data accesses, by line */                                                   \
    X(FETCHES, fetches)                 /* instruction fetches, by line */                                             \
    X(MISSES, misses)                   /* of both, in the CPU's cache: the next three together */                     \
    X(LLC_HITS, llc_hits)               /* served by the node's cache */                                               \
    X(LOCAL, local)                     /* by the node's own memory */                                                 \
    X(REMOTE, remote)                   /* by another node */                                                          \
    X(FORWARDS, forwards)               /* of these by its cache, which had written the line */                        \
    X(UPGRADES, upgrades)               /* writes to a line that was here, but shared */                               \
    X(PREFETCHES, prefetches)           /* lines fetched ahead */                                                      \
    X(WAITS, link_wait_cycles)          /* cycles spent waiting for links */                                           \
    X(WALKS, walks)                     /* misses of the TLB */                                                        \
    X(WALK_REFERENCES, walk_references) /* entries of page tables read in them */                                      \
    X(WALK_LOCAL, walk_local)           /* of these from the node's own memory */                                      \
    X(WALK_REMOTE, walk_remote)         /* from another node */                                                        \
    X(WALK_STALLS, walk_cycles)         /* cycles of walks */                                                          \
    X(WALK_OTHERS, walks_unresolved)    /* walks that did not end at the page that was accessed */                     \
    X(STALE, stale_translations)        /* with check=1: the TLB had another page than was accessed */                 \
    X(UNKNOWN, unmodelled)              /* accesses to devices, ROM, and memory not known yet */                       \
    X(STALLS_USER, stalls_user)         /* cycles above one for each instruction, in user mode, */                     \
    X(STALLS_KERNEL, stalls_kernel)     /* in the kernel */                                                            \
    X(STALLS_IDLE, stalls_idle)         /* and in its idle loop */

enum numa_counter {
    NUMA_BEFORE = COLUMN_COUNT - 1,
#define X(name, word) NUMA_##name,
    NUMA_COUNTERS(X)
#undef X
        NUMA_COUNTER_COUNT
};

#endif
