/* numabench: what its files share. userland/bench/numa/numabench.c is the program.
 *
 * Functions that return int return 0 or an errno, having told with bench_failed what failed. */
#ifndef USERLAND_NUMABENCH_H
#define USERLAND_NUMABENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"

#define NUMABENCH_LINE 64
#define NUMABENCH_STARTS 64

/* An element of a list: a cache line. */
struct numabench_element {
    struct numabench_element *next;
    unsigned char mark;
    char rest[NUMABENCH_LINE - sizeof(void *) - 1];
};

/* A list in memory of its own, in an order that says nothing of where its elements are. */
struct numabench_list {
    struct numabench_element *memory;
    struct numabench_element *starts[NUMABENCH_STARTS]; /* at even distances along the list, which is a ring */
    uint32_t length;
};

/* Makes a list of LENGTH elements, which the calling thread is the first to touch, shuffled by SEED. SMALL: in pages of
 * 4 KiB, whatever the kernel would take. */
int numabench_list_make(struct numabench_list *list, uint32_t length, uint64_t seed, bool small);
void numabench_list_free(struct numabench_list *list);

/* The pages of LIST that are not on NODE, as the kernel says; -1 when it does not say. */
long numabench_list_misplaced(const struct numabench_list *list, int node);

/* Follows LIST from FIRST for COUNT elements, reading where the next one is, or writing a byte of each. Returns where
 * it came to. */
struct numabench_element *numabench_read(struct numabench_element *first, uint32_t count);
struct numabench_element *numabench_write(struct numabench_element *first, uint32_t count);

#endif
