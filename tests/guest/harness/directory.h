/* A directory of their own for the tests of a program. */
#ifndef TESTS_GUEST_DIRECTORY_H
#define TESTS_GUEST_DIRECTORY_H

#include <stddef.h>
#include <sys/types.h>

#include "tests/guest/harness/tap.h"

/* The directory, from the root, while there is one. */
extern char directory_path[];

/* As tap_run, in a new directory with MODE, which the tests leave empty: else the program fails. */
int directory_run(int argc, char **argv, const struct tap_test *tests, size_t count, mode_t mode);

#endif
