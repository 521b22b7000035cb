/* Regions: what every CPU executed between two markers. */
#ifndef TOOLS_PLUGIN_REGION_H
#define TOOLS_PLUGIN_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REGION_COUNT 256
#define CACHE_LINE 64

enum column { COLUMN_USER, COLUMN_KERNEL, COLUMN_IDLE, COLUMN_COUNT };

/* What each CPU has done since power-on: counter I of CPU C is at C * region_stride + I, of which the first
 * COLUMN_COUNT are instructions. Written by the thread of that CPU alone, read by any. */
extern uint64_t *region_totals;    /* set once, by region_setup */
extern unsigned int region_stride; /* likewise: whole cache lines */
extern unsigned int region_open_count;

/* Makes everything ready for CPUS CPUs and COUNTERS counters of each; false when there is no memory. */
bool region_setup(unsigned int cpus, unsigned int counters);

/* Counts one instruction of CPU. The thread of the CPU calls it; no count can be lost, as nobody else writes. */
static inline void region_count(unsigned int cpu, enum column column)
{
    uint64_t *total = &region_totals[(size_t)cpu * region_stride + column];
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

/* Calls VISIT for each region that was entered, with the sums of its counters, laid out as region_totals. */
void region_visit(void (*visit)(void *context, unsigned int number, const uint64_t *sums), void *context);

#endif
