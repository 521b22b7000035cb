/* The parts of test-mempolicy. */
#ifndef TESTS_GUEST_MEMPOLICY_H
#define TESTS_GUEST_MEMPOLICY_H

#include <stdbool.h>

/* MPOL_DEFAULT... */
#define DEFAULT 0
#define PREFERRED 1
#define BIND 2
#define INTERLEAVE 3
#define LOCAL 4
#define WEIGHTED 6
#define BALANCING 0x2000
#define F_ADDR 2 /* MPOL_F_ADDR */
#define MOVE 2   /* MPOL_MF_MOVE */
#define BITS 64
#define PAGES 24 /* of an area, mostly */

extern int mempolicy_node_count;

/* The system calls set_mempolicy and mbind; they return what these return. */
long mempolicy_set(int mode, unsigned long nodes);
long mempolicy_bind(void *at, long pages, int mode, unsigned long nodes, int flags);
/* Writes its number to each page, page i on kernel i; and checks that it is there, as another kernel sees it. */
void mempolicy_touch(char *at, long pages);
void mempolicy_expect_content(const char *at, long pages, const char *when);
unsigned long mempolicy_all_nodes(void);
/* Skips the test on a machine of one node, and returns true. */
bool mempolicy_skip_one_node(void);

/* Of weights, and of counters: mempolicy_weights.c. */
void mempolicy_test_weighted(void);
void mempolicy_test_counted(void);
void mempolicy_test_weights_at_once(void);
void mempolicy_test_weight_errors(void);

#endif
