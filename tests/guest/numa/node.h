/* For test programs: on which nodes pages and threads are. For every thread, also those without the C library. */
#ifndef TESTS_GUEST_NODE_H
#define TESTS_GUEST_NODE_H

#include <stdbool.h>

/* The node of the CPU that the caller is on. */
int node_here(void);
/* The node of the page that ADDRESS is in, or a negative errno: ENOENT, there is none. */
int node_of(const void *address);
/* Sets NODES[i] to the node of page i of the COUNT pages from AREA on, or to a negative errno. False after a check that
 * has failed. */
bool node_of_each(const void *area, long count, int *nodes);
/* How many of the COUNT pages from AREA on are on NODE; -1 after a check that has failed. */
long node_has(int node, const void *area, long count);

#endif
