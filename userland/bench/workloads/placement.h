/* Placement of a workload's memory by what an earlier run of it has shown, after a thesis on page migration guided by
 * traces. The environment says what is done: NUMA_PHASE
 *
 *     0, or unset   nothing
 *     1   prints each block of memory as a JSON object, for a run that is traced
 *     2   gives the pages of each block, before anybody touches them, the nodes that the file NUMA_HINTS names
 *     3   moves the pages there when the timed part begins, within it
 *
 * A line of NUMA_HINTS is "BLOCK FIRST COUNT NODE": COUNT pages from page FIRST of the block of memory of that number.
 * Blocks that are made before there is a team count from 0, those that its member M makes from 32 * (M + 1), whoever is
 * first. So neither addresses nor the order of threads need be those of the run that was traced.
 * `kettle numa placement` writes it. */
#ifndef USERLAND_WORKLOADS_PLACEMENT_H
#define USERLAND_WORKLOADS_PLACEMENT_H

#include <stddef.h>

/* The caller, a thread, is member ME of the team from now on. */
void placement_member(int me);

/* MEMORY of BYTES is new and untouched. Ends the program, with a message, when the environment or the file is wrong or
 * the system refuses what it says. */
void placement_made(void *memory, size_t bytes);

/* The timed part begins; the caller alone runs. Ends the program likewise. */
void placement_begin(void);

#endif
