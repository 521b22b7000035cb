/* Visiting kernels: what the tests of moving threads have in common.
 *
 * Every test starts and ends on one kernel, its home. */
#ifndef USERLAND_TESTS_VISIT_H
#define USERLAND_TESTS_VISIT_H

#include <stdbool.h>

#define VISIT_MAX 64
#define VISIT_ALL VISIT_MAX
#define VISIT_FEW 8 /* for tests whose work grows with the square of the kernels, or that start programs */

#define PAGE 4096l
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)

struct visit {
    int home; /* where every test starts; set by main */
    int count;
    int kernels[VISIT_MAX]; /* those the running test uses, ascending; home is among them */
};

extern struct visit visit;

/* Begins a test that uses at most LIMIT of the started kernels, spread evenly. Skips the test, and returns
 * false, when there is nowhere to go. */
bool visit_begin(int limit);

/* Moves to KERNEL and makes sure of it. Returns whether the thread is there. */
bool visit_move(int kernel);

/* The kernel STEPS behind KERNEL in the ring of those the test uses. */
int visit_after(int kernel, int steps);

/* Any of the kernels the test uses. */
int visit_random(void);

/* Some kernel that is not home. */
int visit_away(void);

/* New memory, or NULL after noting why there is none. */
char *visit_map(long pages, int protection);

/* Asks the kernel whether a path can be read at ADDRESS; the program touches nothing. */
bool visit_readable(const void *address);

/* Asks the kernel whether a clock's value can be put at ADDRESS. */
bool visit_writable(void *address);

/* The monotonic clock in nanoseconds. */
long visit_time(void);

#endif
