/* Measuring in a benchmark: the clock and the markers around an operation, samples, and what went wrong. One case runs
 * at a time, and at most one thread of the program measures at a time.
 *
 * Functions that return int return 0 or an errno. ENOSYS means that this kernel has no such thing, and the row is then
 * absent. */
#ifndef USERLAND_BENCH_MEASURE_H
#define USERLAND_BENCH_MEASURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_COUNT_MAX 10000
#define BENCH_PAGE 4096

/* From now on processes that this one forks measure for it: it sees their samples and failures, and they its. Once,
 * before anything is measured. False with errno set. */
bool bench_measure_share(void);

/* Begins a case of region REGION with room for COUNT samples; false when there cannot be so many. */
bool bench_measure_prepare(unsigned region, uint32_t count);

/* Around one operation, in this order; begin and end may be passed by different threads. What is counted lies between
 * mark and unmark. At most COUNT times. */
void bench_clock_begin(void);
void bench_mark(void);
void bench_unmark(void);
void bench_clock_end(uint32_t operations);

/* The first two and the last two of these, for one operation. */
void bench_begin(void);
void bench_end(void);

/* For an operation that another process begins: the time of its begin, and that its mark is open. */
void bench_begun_elsewhere(uint64_t time);

/* For operations that several threads measured by themselves: one sample; and that so many operations were marked. */
void bench_sample_add(uint64_t ns);
void bench_operations_add(uint64_t operations);

/* Brings what measuring touches to where the calling thread is, and begins the case anew. Markers of region 0 are
 * passed.
 */
void bench_measure_warm_up(void);

/* Forgets an operation that failed, so that the region is closed. */
void bench_measure_abandon(void);

/* The samples of the case, one for each operation or each few of them, and the number of operations measured. */
uint64_t *bench_samples(size_t *count, uint64_t *operations);

/* Tells what failed and returns ERROR; what was told first stays until bench_failure_clear. Any thread may tell. */
int bench_failed(const char *what, int error);
const char *bench_failure(void);
void bench_failure_clear(void);

/* Sleeps for NS, with nothing of the C library. */
void bench_rest(long ns);

/* Sleeps until *VALUE is 0, looking now and then: hardly anything is executed meanwhile. */
void bench_rest_until_zero(atomic_int *value);

#endif
