/* What the tests of names share. */
#ifndef TESTS_GUEST_TREE_H
#define TESTS_GUEST_TREE_H

#include <stdbool.h>

/* Makes and enters the directory of this program, which is empty then. */
void tree_begin(void);
/* Goes to the next kernel. Returns true. */
bool tree_on(void);
/* Checks that RESULT is that of a call which failed with ERROR, or for 0 of one that did not. */
void tree_gives(long result, int error, int line, const char *call);
/* Opens and closes PATH. */
long tree_opened(const char *path, int flags);

/* CALL, made on the next kernel, fails with ERROR, or for 0 does not. */
#define GIVES(call, error) tree_gives(tree_on() ? (long)(call) : 0, (error), __LINE__, #call)

/* tests/guest/fs/tree_fifo.c */
void tree_test_fifo(void);
void tree_test_fifo_gives_up(void);

#endif
