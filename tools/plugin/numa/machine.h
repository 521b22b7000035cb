/* The modelled machine: a cache for each CPU, one for each node that holds whatever its CPUs' caches hold, memory, and
 * links. Caches are kept equal by invalidation: a line has either one node that may write it or any number that may
 * not, and likewise within a node. tools/plugin/numa/numa_model.md has the rules and their costs.
 *
 * One thread uses it at a time. */
#ifndef TOOLS_PLUGIN_NUMA_MACHINE_H
#define TOOLS_PLUGIN_NUMA_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/plugin/numa/cache.h"
#include "tools/plugin/numa/config.h"
#include "tools/plugin/numa/counters.h"
#include "tools/plugin/numa/link.h"
#include "tools/plugin/numa/prefetch.h"

enum numa_access { NUMA_READ, NUMA_WRITE, NUMA_FETCH, NUMA_WALK };

/* Who gave a line. */
enum numa_source { NUMA_FROM_CACHE, NUMA_FROM_LLC, NUMA_FROM_MEMORY, NUMA_FROM_OTHER_CACHE };

struct numa_outcome {
    enum numa_source source;
    uint32_t node;   /* whose memory or cache it was, if it came from there */
    uint64_t cycles; /* above those of the instruction */
};

struct numa_cpu {
    struct cache cache;
    struct prefetcher prefetcher;
    uint64_t *counters; /* enum column, enum numa_counter, nodes; the owner's */
    uint64_t stalls;    /* cycles above one for each instruction */
    uint64_t ahead;     /* what is added to its clock to compare it with others': see numa_clocks_meet */
    uint32_t node;
    uint32_t place;
    enum column column; /* of the instruction that is executed */
};

struct numa_machine {
    struct numa_config config;
    struct numa_cpu *cpus;
    struct cache *llcs; /* one for each node */
    struct links links;
    uint64_t first[NUMA_NODES_MAX + 1]; /* RAM offset at which a node begins */
    uint8_t cpu_at[NUMA_NODES_MAX][64]; /* the CPU of a node and place */
};

/* Makes the machine of CONFIG; counters[cpu] is where a CPU counts. False when there is no memory. */
bool numa_machine_make(struct numa_machine *machine, const struct numa_config *config);
void numa_machine_free(struct numa_machine *machine);

/* The node of the RAM offset. */
uint32_t numa_node_of(const struct numa_machine *machine, uint64_t ram);

/* CPU accesses the line of RAM offset RAM by the instruction at PC: moves lines, counts, and lets its clock go on. */
struct numa_outcome numa_access(struct numa_machine *machine, unsigned int cpu, enum numa_access access, uint64_t ram,
                                uint64_t pc);

/* A CPU's clock, in cycles since it began. */
uint64_t numa_clock(const struct numa_cpu *cpu);

/* From here on the clocks of all CPUs are compared as if they were equal now. */
void numa_clocks_meet(struct numa_machine *machine);

#endif
