/* Regions: what every CPU executed between two markers. */
#ifndef TOOLS_PLUGIN_REGION_H
#define TOOLS_PLUGIN_REGION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define REGION_COUNT 256
#define CACHE_LINE 64

enum column { COLUMN_USER, COLUMN_KERNEL, COLUMN_IDLE, COLUMN_COUNT };

/* All that one CPU has executed since power-on. Written by the thread of that CPU alone, read by any. */
struct cpu_total {
    _Alignas(CACHE_LINE) uint64_t executed[COLUMN_COUNT];
};

extern struct cpu_total *cpu_totals; /* one for each CPU; set once, by region_setup */
extern unsigned int region_open_count;

/* Makes everything ready for CPUS CPUs; false when there is no memory. */
bool region_setup(unsigned int cpus);

/* Counts one instruction of CPU. The thread of the CPU calls it; no count can be lost, as nobody else writes. */
static inline void region_count(unsigned int cpu, enum column column)
{
    uint64_t *total = &cpu_totals[cpu].executed[column];
    __atomic_store_n(total, __atomic_load_n(total, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

/* True while at least one region is open. */
static inline bool region_any_open(void)
{
    return __atomic_load_n(&region_open_count, __ATOMIC_RELAXED) != 0;
}

/* A marker of region NUMBER, below REGION_COUNT, was passed. Any thread. A begin of an open region and an end of a
 * closed one change nothing and are counted as errors. */
void region_begin(unsigned int number);
void region_end(unsigned int number);

/* Writes a JSON array with an object for each region that a marker named. A region still open counts up to now. */
void region_write(FILE *file);

#endif
