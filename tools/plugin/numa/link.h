/* The bandwidth of links: from each node's memory to each node's CPUs, its own included, one line at a time.
 *
 * The clocks of CPUs run apart by as much as the emulator lets one CPU run before the next, so a link is no queue: time
 * is cut into slots, a line takes room in the first slot from its time on that has any, and it waits until that slot.
 */
#ifndef TOOLS_PLUGIN_NUMA_LINK_H
#define TOOLS_PLUGIN_NUMA_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define LINK_SLOT_CYCLES 1024
#define LINK_SLOTS 256 /* the time that is remembered: later uses forget earlier slots */

struct link {
    uint64_t slot[LINK_SLOTS]; /* which slot of time an element is, + 1 */
    uint32_t used[LINK_SLOTS]; /* of it, in 1/256 cycles */
};

struct links {
    uint32_t nodes;
    uint32_t line; /* 1/256 cycles for a line; 0: no limit */
    struct link *all;
};

/* False when there is no memory. */
bool links_make(struct links *links, uint32_t nodes, uint32_t line);
void links_free(struct links *links);

/* Moves a line between the memory or cache of node FROM and node TO at cycle NOW; returns the cycles that it waits. */
uint64_t links_wait(struct links *links, uint32_t from, uint32_t to, uint64_t now);

#endif
