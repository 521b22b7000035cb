/* taskbench: the clock and the markers around an operation, samples, and what went wrong. One case runs at a time, and
 * at most one thread of the program measures at a time. */
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "userland/bench.h"
#include "userland/mark.h"
#include "userland/taskbench.h"
#include "userland/tests/machine.h"

#define LOOK_NS 5000000 /* between two looks of taskbench_rest_until_zero: much longer than any operation */

static unsigned region;
static bool marked; /* the region is open */
static uint64_t begun;
static uint64_t samples[TASKBENCH_COUNT_MAX];
static size_t sample_count;
static uint64_t operation_count;
static char failure[96];

bool taskbench_measure_prepare(unsigned number, uint32_t count)
{
    if (count > TASKBENCH_COUNT_MAX)
        return false;
    region = number;
    sample_count = 0;
    operation_count = 0;
    marked = false;
    for (size_t i = 0; i < count; i++)
        samples[i] = 0; /* touched now, not while measuring */
    return true;
}

void taskbench_clock_begin(void)
{
    begun = bench_now();
}

void taskbench_mark(void)
{
    marked = true;
    mark_begin(region);
}

void taskbench_unmark(void)
{
    mark_end(region);
    marked = false;
}

void taskbench_clock_end(uint32_t operations)
{
    samples[sample_count++] = (bench_now() - begun) / operations;
    operation_count += operations;
}

void taskbench_begin(void)
{
    taskbench_clock_begin();
    taskbench_mark();
}

void taskbench_end(void)
{
    taskbench_unmark();
    taskbench_clock_end(1);
}

void taskbench_begun_elsewhere(uint64_t time)
{
    begun = time;
    marked = true;
}

void taskbench_measure_abandon(void)
{
    if (marked)
        taskbench_unmark();
    sample_count = 0;
    operation_count = 0;
}

uint64_t *taskbench_samples(size_t *count, uint64_t *operations)
{
    *count = sample_count;
    *operations = operation_count;
    return samples;
}

int taskbench_failed(const char *what, int error)
{
    if (failure[0] == '\0')
        strncat(failure, what, sizeof(failure) - 1); /* no stdio: threads without the C library fail, too */
    return error;
}

const char *taskbench_failure(void)
{
    return failure;
}

void taskbench_failure_clear(void)
{
    failure[0] = '\0';
}

void taskbench_rest(long ns)
{
    struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    machine_call3(SYS_nanosleep, (long)&time, 0, 0);
}

void taskbench_rest_until_zero(atomic_int *value)
{
    while (atomic_load(value) != 0)
        taskbench_rest(LOOK_NS);
}
