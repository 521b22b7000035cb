/* The modelled machine as data: what tools/hosttools/measure/numa_model.py checked and wrote, read into a structure.
 *
 * The file is text, one setting a line: a word and whole numbers. Times are cycles of the modelled CPU. */
#ifndef TOOLS_PLUGIN_NUMA_CONFIG_H
#define TOOLS_PLUGIN_NUMA_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NUMA_NODES_MAX 64
#define NUMA_CPUS_MAX 256
#define NUMA_LINE_BITS 6 /* a line is 64 bytes */
#define NUMA_LINK_UNIT 256

/* SETS is a power of two. */
struct numa_shape {
    uint32_t sets;
    uint32_t ways;
};

struct numa_config {
    uint32_t nodes;
    uint32_t cpus;
    uint8_t node_of[NUMA_CPUS_MAX];                   /* of a CPU */
    uint8_t place_of[NUMA_CPUS_MAX];                  /* of a CPU among those of its node, below 64 */
    uint64_t memory[NUMA_NODES_MAX];                  /* bytes of a node; nodes lie in RAM in their order */
    uint64_t low;                                     /* bytes of RAM below 4 GiB; the rest begins at 4 GiB */
    uint32_t latency[NUMA_NODES_MAX][NUMA_NODES_MAX]; /* cycles: from a CPU of the first to memory of the second */
    struct numa_shape cache;                          /* of a CPU */
    struct numa_shape llc;                            /* of a node */
    struct numa_shape tlb;                            /* of a CPU; 0 sets: no walks are modelled */
    uint32_t cache_cycles;                            /* of a hit in the CPU's cache */
    uint32_t llc_cycles;                              /* of a hit in the node's cache */
    uint32_t prefetch;                                /* lines fetched ahead; 0: none */
    uint32_t check;                                   /* not 0: ask the emulator at each access, too */
    uint32_t link;                                    /* 1/256 cycles for which a line occupies a link; 0: no limit */
};

/* Reads FILE into CONFIG. Returns NULL, or what is wrong in a few words. */
const char *numa_config_read(FILE *file, struct numa_config *config);

#endif
