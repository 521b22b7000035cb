/* The kernels that a test moves to and fro between, by a number: the same test means something on one kernel, on a
 * Linux, and where every step is another kernel's. */
#ifndef TESTS_GUEST_SEVERAL_KERNELS_H
#define TESTS_GUEST_SEVERAL_KERNELS_H

#define KERNELS_MAX 8

/* Looks for the started kernels; once, first. */
void kernels_find(void);

/* How many there are to use: 1 to KERNELS_MAX, spread evenly over the started ones. */
int kernels_count(void);

/* Moves the calling thread to the NUMBERth of them, modulo their number. */
void kernels_go(long number);

#endif
