/* The kernels that the parts of test-migrate move to. Every test starts and ends on one kernel, its home. */
#ifndef TESTS_GUEST_MIGRATE_ROUTE_H
#define TESTS_GUEST_MIGRATE_ROUTE_H

#include <stdbool.h>

#include "tests/guest/harness/spread_memory.h"

#define ROUTE_MAX 64
#define ROUTE_ALL ROUTE_MAX
#define ROUTE_FEW 8 /* for tests whose work grows with the square of the kernels, or that start programs */

struct route {
    int home; /* where every test starts; set by main */
    int count;
    int kernels[ROUTE_MAX]; /* those the running test uses, ascending; home is among them */
};

extern struct route route;

/* Begins a test that uses at most LIMIT of the started kernels, spread evenly. Skips the test, and returns
 * false, when there is nowhere to go. */
bool route_begin(int limit);

/* Moves to KERNEL and makes sure of it. Returns whether the thread is there. */
bool route_move(int kernel);

/* The kernel STEPS behind KERNEL in the ring of those the test uses. */
int route_after(int kernel, int steps);

/* Any of the kernels the test uses. */
int route_random(void);

/* Some kernel that is not home. */
int route_away(void);

/* New memory, or NULL after noting why there is none. */
char *route_map(long pages, int protection);

#endif
