/* What the benchmark programs share: the clock, options as users type them, and samples as they are printed. */
#ifndef USERLAND_BENCH_H
#define USERLAND_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The monotonic clock, in nanoseconds. */
uint64_t bench_now(void);

/* Reads a decimal number from LEAST to MOST and nothing else. TEXT may be NULL. */
bool bench_number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *value);

#define BENCH_STATUS_USAGE 2 /* how a program ends whose arguments are wrong */

/* An option. One of FLAG, NUMBER and TEXT says where what the user wants goes. */
struct bench_option {
    const char *name; /* with its dashes */
    bool *flag;       /* becomes true: the option has no value */
    uint64_t *number; /* a decimal number from LEAST to MOST, and nothing else */
    uint64_t least, most;
    char **text; /* any but an empty one */
};

/* Reads the COUNT arguments at WORDS, each of which is one of the OPTIONS, the last of which has no name, or its value.
 * Returns 0; or BENCH_STATUS_USAGE, after saying what is wrong in the words of PROGRAM. */
int bench_options_read(const char *program, const struct bench_option *options, int count, char **words);

/* Says what is wrong with the arguments of PROGRAM: PROBLEM, and with which WORD unless it is empty. Returns
 * BENCH_STATUS_USAGE. */
int bench_usage_error(const char *program, const char *problem, const char *word);

/* Prints "[1, 2, 3]". */
void bench_samples_json(const uint64_t *samples, size_t count);

/* Prints p50 and p99 of samples in ns as two columns in us, dashes where there are none, and ends the line. Sorts them.
 */
void bench_samples_row(uint64_t *samples, size_t count);

#endif
