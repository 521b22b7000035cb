/* Tests of memory over kernels: the same checks mean something on one kernel, on a Linux, and where every page was
 * touched by another kernel than the one that looks at it. */
#ifndef USERLAND_TESTS_SPREAD_H
#define USERLAND_TESTS_SPREAD_H

#include <stdbool.h>

#define PAGE 4096l
#define READ_WRITE (PROT_READ | PROT_WRITE)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)
#define SHARED (MAP_SHARED | MAP_ANONYMOUS)

/* Looks for the kernels; once, first. */
void spread_begin(void);

/* How many kernels there are to use: 1 to SPREAD_MAX. */
#define SPREAD_MAX 8
int spread_count(void);

/* Moves the calling thread to the NUMBERth kernel, modulo their number. */
void spread_go(long number);

/* New memory, or NULL after a note; TYPE is one of the two above, with more flags perhaps. */
char *spread_map(long pages, int type);

/* Writes both ends of pages [FIRST, LAST), page i as kernel i, with what SEED says. The thread is at kernel 0 then. */
void spread_fill(char *area, long first, long last, int seed);
/* True when those pages have what spread_fill wrote, or zeros for seed 0, as every kernel sees it. */
bool spread_holds(const char *area, long first, long last, int seed);

/* Asks the kernel whether ADDRESS can be read, without touching it. */
bool spread_readable(const void *address);

/* Runs a test's BODY in a child process; returns the status it left with, 1000 and the signal that killed it, or -1. */
int spread_child(int (*body)(void *context), void *context);

#endif
