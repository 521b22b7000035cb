/* What the benchmark programs share: the clock, numbers as users type them, and samples as they are printed. */
#ifndef USERLAND_BENCH_H
#define USERLAND_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The monotonic clock, in nanoseconds. */
uint64_t bench_now(void);

/* Reads a decimal number from LEAST to MOST and nothing else. TEXT may be NULL. */
bool bench_number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* Prints "[1, 2, 3]". */
void bench_samples_json(const uint64_t *samples, size_t count);

/* Prints p50 and p99 of samples in ns as two columns in us, dashes where there are none, and ends the line. Sorts them.
 */
void bench_samples_row(uint64_t *samples, size_t count);

#endif
