/* Memory whose pages are written by one kernel after the other, and read by all. kernels_find comes first. */
#ifndef TESTS_GUEST_SPREAD_MEMORY_H
#define TESTS_GUEST_SPREAD_MEMORY_H

#include <stdbool.h>

#define PAGE 4096l
#define READ_WRITE (PROT_READ | PROT_WRITE)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)
#define SHARED (MAP_SHARED | MAP_ANONYMOUS)

/* New memory, or NULL after a note; TYPE is one of the two above, with more flags perhaps. */
char *spread_memory_map(long pages, int type);

/* The same, but it begins and ends with a block of 64 KiB: PAGES is a multiple of 16. */
char *spread_memory_map_blocks(long pages, int type);

/* Writes both ends of pages [FIRST, LAST), page i as kernel i, with what SEED says. The thread is at kernel 0 then. */
void spread_memory_fill(char *area, long first, long last, int seed);

/* True when those pages have what spread_memory_fill wrote, or zeros for seed 0, as every kernel sees it. */
bool spread_memory_holds(const char *area, long first, long last, int seed);

/* Asks the kernel whether a path can be read at ADDRESS, or a clock's value be put there; the program touches
 * nothing. */
bool memory_readable(const void *address);
bool memory_writable(void *address);

#endif
