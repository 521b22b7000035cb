/* The NUMA model in the plugin: what is called at each instruction and access, and the figures. */
#ifndef TOOLS_PLUGIN_NUMA_NUMA_H
#define TOOLS_PLUGIN_NUMA_NUMA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/plugin/numa/trace.h"
#include "tools/plugin/qemu_api.h"
#include "tools/plugin/region.h"

/* Reads the model of PATH; CPUS is how many the machine has. Returns NULL, or what is wrong in a few words. */
const char *numa_setup(const char *path, unsigned int cpus);

/* How many counters each CPU has, after numa_setup. */
unsigned int numa_counter_count(void);

/* Connects the model with the counters of region.h. False when there is no memory. */
bool numa_start(void);

/* Has QEMU tell the model of INSN; COLUMN is what it counts as, and PREVIOUS its predecessor in the block, or NULL.
 * Call it before what counts the instruction is registered. */
void numa_instrument(struct qemu_plugin_insn *insn, const struct qemu_plugin_insn *previous, enum column column);

/* A region begins: from the first one on there is a model, with nothing in its caches. */
void numa_region_begin(void);

/* Has the accesses in regions written to the file PATH; after numa_start. False when it cannot be written, with errno
 * set. */
bool numa_trace(const char *path, enum trace_choice choice, uint32_t every);

/* Ends the trace, and writes the JSON object of the figures. */
void numa_write(FILE *file);

#endif
