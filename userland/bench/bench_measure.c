/* Measuring in a benchmark. userland/bench/bench_measure.h is the contract. */
#include "userland/bench/bench_measure.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "userland/bench/bench.h"
#include "userland/bench/mark.h"
#include "userland/x86.h"

#define LOOK_NS 5000000 /* between two looks of bench_rest_until_zero: much longer than any operation */

struct measure {
    unsigned region;
    bool marked; /* the region is open */
    uint64_t begun;
    uint64_t samples[BENCH_COUNT_MAX];
    size_t sample_count;
    uint64_t operation_count;
    uint32_t room; /* samples that the case has asked for */
    char failure[96];
};

static struct measure own;
static struct measure *measure = &own;

bool bench_measure_share(void)
{
    void *memory = mmap(NULL, sizeof(*measure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    measure = memory;
    return true;
}

static void forget(void)
{
    measure->sample_count = 0;
    measure->operation_count = 0;
    for (size_t i = 0; i < measure->room; i++)
        measure->samples[i] = 0; /* touched now, not while measuring */
}

bool bench_measure_prepare(unsigned region, uint32_t count)
{
    if (count > BENCH_COUNT_MAX)
        return false;
    measure->region = region;
    measure->marked = false;
    measure->room = count;
    forget();
    return true;
}

void bench_clock_begin(void)
{
    measure->begun = bench_now();
}

void bench_mark(void)
{
    measure->marked = true;
    mark_begin(measure->region);
}

void bench_unmark(void)
{
    mark_end(measure->region);
    measure->marked = false;
}

void bench_clock_end(uint32_t operations)
{
    bench_sample_add((bench_now() - measure->begun) / operations);
    bench_operations_add(operations);
}

void bench_begin(void)
{
    bench_clock_begin();
    bench_mark();
}

void bench_end(void)
{
    bench_unmark();
    bench_clock_end(1);
}

void bench_begun_elsewhere(uint64_t time)
{
    measure->begun = time;
    measure->marked = true;
}

void bench_sample_add(uint64_t ns)
{
    if (measure->sample_count < BENCH_COUNT_MAX)
        measure->samples[measure->sample_count++] = ns;
}

void bench_operations_add(uint64_t operations)
{
    measure->operation_count += operations;
}

void bench_measure_warm_up(void)
{
    unsigned region = measure->region;

    measure->region = 0;
    bench_begin();
    bench_end();
    measure->region = region;
    forget();
}

void bench_measure_abandon(void)
{
    if (measure->marked)
        bench_unmark();
    forget();
}

uint64_t *bench_samples(size_t *count, uint64_t *operations)
{
    *count = measure->sample_count;
    *operations = measure->operation_count;
    return measure->samples;
}

int bench_failed(const char *what, int error)
{
    if (measure->failure[0] == '\0') /* no stdio: threads without the C library fail, too */
        strncat(measure->failure, what, sizeof(measure->failure) - 1);
    return error;
}

const char *bench_failure(void)
{
    return measure->failure;
}

void bench_failure_clear(void)
{
    measure->failure[0] = '\0';
}

void bench_rest(long ns)
{
    struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    x86_syscall3(SYS_nanosleep, (long)&time, 0, 0);
}

void bench_rest_until_zero(atomic_int *value)
{
    while (atomic_load(value) != 0)
        bench_rest(LOOK_NS);
}
