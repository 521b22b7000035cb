/* The parts of test-move: pages that go round all nodes while others use them.
 *
 * Each page has a line for each writer, with a count and a word that follows from it. A writer knows what it has
 * written last, and a reader what it has read last, which no later read precedes. */
#ifndef TESTS_GUEST_MOVE_H
#define TESTS_GUEST_MOVE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "tests/guest/harness/spread_memory.h"

#define MOVE_BIND 2 /* MPOL_BIND */
#define MOVE 2      /* MPOL_MF_MOVE */
#define MOVE_ALL 4  /* MPOL_MF_MOVE_ALL */
#define BITS 64
#define PAGES 96l
#define WRITERS 8
#define READERS 4
#define WRITES_TOGETHER 16  /* after so many another CPU of an emulator runs */
#define WRITES_STAYING 4096 /* after so many a writer goes to another kernel */

struct page {
    struct line {
        _Alignas(64) atomic_ulong count;
        atomic_ulong mark;
    } line[PAGE / 64];
};
_Static_assert(sizeof(struct page) == PAGE, "a page");

extern long move_rounds;
extern int move_node_count;
extern struct page *move_area; /* PAGES of them */
extern atomic_int move_arrived;
extern atomic_ulong move_wrong; /* things that were not to be */
extern unsigned long move_written[WRITERS][PAGES], move_seen[READERS][PAGES][WRITERS];

/* The system call move_pages, for COUNT pages from FIRST on. Returns what it returns. */
long move_call(void *first, long count, const int *wanted, int *status, int flags);
/* Moves COUNT pages, page i to node (FIRST + i / STEP), and checks that they are there. */
void move_round(void *at, long count, long first, long step, int flags);
/* Skips the test on a machine of one node, and returns true. */
bool move_skip_one_node(void);
/* From now on nobody but the test moves this process's pages: the option numa= may be a policy that does. For tests
 * that count, or ask where a page is long after they have moved it. move_others lets the option's policy move them
 * again. */
void move_alone(void);
void move_others(void);

unsigned long move_mark_of(long page, long writer, unsigned long count);
/* Writes the first marks to the pages at move_area; nothing has been written, seen or found wrong. */
void move_fill(void);
void move_read_line(int reader, long page, int writer);
void move_write_line(int writer, long page);

/* Of memory that is shared: move_shared.c. */
void move_test_shared(void);
void move_test_sharers(void);
void move_test_crowd(void);

/* Of pages that a process maps at several places: move_twice.c. */
void move_test_twice(void);
void move_test_places(void);
void move_test_places_storm(void);

/* Of files: move_file.c. */
void move_test_files(void);
void move_test_file_sharers(void);
void move_test_file_private(void);
void move_test_file_cut(void);

#endif
