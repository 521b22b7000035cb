/* pingpong: round trips between two threads on two CPUs, by futexes and by pipes: the baseline for messages.
 *
 * Plain POSIX and the futex call. Each thread is bound to a CPU and sleeps in the kernel while it waits: it asks to
 * wait without looking first, so only an answer that is already there keeps it awake. How many waits by futex slept is
 * told.
 *
 * Times are of BATCH round trips at once, as reading the clock is a system call on some machines. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/bench/bench.h"
#include "userland/bench/mark.h"
#include "userland/help.h"

#define STATUS_FAILED 1
#define BATCH 16
#define COUNT 4096
#define COUNT_MAX 1000000
#define WARM_UP 256
#define PIPE_BYTES 48
#define CACHE_LINE 64

/* futex(2), with FUTEX_PRIVATE_FLAG: the C library has no header for it. */
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

enum { REGION_CALL = 1, REGION_FUTEX, REGION_PIPE };

static const char usage[] =
    "usage: pingpong [--count N] [--quick] [--no-times] [--json]\n"
    "\n"
    "Measures round trips between two threads bound to two CPUs, by two futexes and by two pipes (48 bytes each "
    "way),\n"
    "and an empty system call: p50 and p99 in us, or with --json one object a line for each, with all samples in ns.\n"
    "\n"
    "  --count N   round trips of each (default 4096; a multiple of 16)\n"
    "  --quick     512\n"
    "  --no-times  take no samples: for counting instructions\n";

struct word {
    alignas(CACHE_LINE) atomic_int value;
};

static int cpus[2];         /* of each thread */
static struct word ball[2]; /* written by thread 0 and by thread 1: how often it has been thrown */
static int pipes[2][2];     /* from thread 0, and from thread 1 */
static uint64_t slept;      /* waits of thread 0 by futex that slept */
static uint64_t samples[COUNT_MAX / BATCH];
static int rounds; /* that the other thread is to answer */

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "pingpong: %s: %s\n", what, strerror(errno));
    exit(STATUS_FAILED);
}

/* Finds the first two CPUs that this program may use. */
static void cpus_find(void)
{
    cpu_set_t set;
    int found = 0;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        fail("sched_getaffinity");
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (CPU_ISSET(cpu, &set))
            cpus[found++] = cpu;
    }
    if (found < 2) {
        fputs("pingpong: needs two CPUs\n", stderr);
        exit(STATUS_FAILED);
    }
}

/* Binds the calling thread, number THREAD, to its CPU. */
static void bind_thread(int thread)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpus[thread], &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        fail("binding a thread to a CPU");
}

static void ball_throw(struct word *word, int number)
{
    atomic_store_explicit(&word->value, number, memory_order_release);
    if (syscall(SYS_futex, &word->value, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0)
        fail("futex");
}

/* Waits until WORD holds NUMBER and not the number before. Returns whether it slept. */
static bool ball_catch(struct word *word, int number)
{
    bool sleeping = false;

    do {
        if (syscall(SYS_futex, &word->value, FUTEX_WAIT_PRIVATE, number - 1, NULL, NULL, 0) == 0)
            sleeping = true;
        else if (errno != EAGAIN && errno != EINTR)
            fail("futex");
    } while (atomic_load_explicit(&word->value, memory_order_acquire) != number);
    return sleeping;
}

static void *futex_answer(void *unused)
{
    (void)unused;
    bind_thread(1);
    for (int i = 1; i <= rounds; i++) {
        ball_catch(&ball[0], i);
        ball_throw(&ball[1], i);
    }
    return NULL;
}

static void futex_ask(int number)
{
    ball_throw(&ball[0], number);
    slept += ball_catch(&ball[1], number);
}

static void pipe_write(int descriptor, const char *bytes)
{
    if (write(descriptor, bytes, PIPE_BYTES) != PIPE_BYTES)
        fail("write");
}

static void pipe_read(int descriptor, char *bytes)
{
    if (read(descriptor, bytes, PIPE_BYTES) != PIPE_BYTES)
        fail("read");
}

static void *pipe_answer(void *unused)
{
    char bytes[PIPE_BYTES];

    (void)unused;
    bind_thread(1);
    for (int i = 1; i <= rounds; i++) {
        pipe_read(pipes[0][0], bytes);
        pipe_write(pipes[1][1], bytes);
    }
    return NULL;
}

static void pipe_ask(int number)
{
    char bytes[PIPE_BYTES] = {(char)number};

    pipe_write(pipes[0][1], bytes);
    pipe_read(pipes[1][0], bytes);
}

static void call_ask(int number)
{
    (void)number;
    getppid();
}

struct test {
    const char *name;
    unsigned region;
    int bytes;
    void (*ask)(int number);
    void *(*answer)(void *); /* the other thread, or NULL */
};

static const struct test tests[] = {
    {"call", REGION_CALL, 0, call_ask, NULL},
    {"futex", REGION_FUTEX, 0, futex_ask, futex_answer},
    {"pipe", REGION_PIPE, PIPE_BYTES, pipe_ask, pipe_answer},
};

static void test_run(const struct test *test, int count, bool times)
{
    pthread_t other;
    int number = 0;

    rounds = WARM_UP + count;
    if (test->answer != NULL) {
        errno = pthread_create(&other, NULL, test->answer, NULL);
        if (errno != 0)
            fail("a second thread");
    }
    while (number < WARM_UP)
        test->ask(++number);
    slept = 0;
    mark_begin(test->region);
    for (int i = 0; i < count; i += BATCH) {
        uint64_t begin = times ? bench_now() : 0;

        for (int j = 0; j < BATCH; j++)
            test->ask(++number);
        if (times)
            samples[i / BATCH] = (bench_now() - begin) / BATCH;
    }
    mark_end(test->region);
    if (test->answer != NULL)
        pthread_join(other, NULL);
}

static void test_print(const struct test *test, int count, bool times, bool json)
{
    int sample_count = times ? count / BATCH : 0;

    if (json) {
        printf("{\"case\": \"%s\", \"operation\": \"%s\", \"bytes\": %d, \"peer\": \"%s\", \"where\": \"%s\", "
               "\"shape\": \"1:1\", \"kernels\": 1, \"count\": %d, \"region\": %u, ",
               test->name, test->answer == NULL ? "call" : "round_trip", test->bytes,
               test->answer == NULL ? "none" : "sleeping", test->answer == NULL ? "any node" : "other CPU", count,
               test->region);
        if (test->answer == futex_answer)
            printf("\"slept\": %" PRIu64 ", ", slept);
        printf("\"ns\": ");
        bench_samples_json(samples, (size_t)sample_count);
        puts("}");
        return;
    }
    printf("%-8s%12d", test->name, count);
    bench_samples_row(samples, (size_t)sample_count);
}

int main(int argc, char **argv)
{
    uint64_t asked = 0;
    bool quick = false, no_times = false, json = false;
    const struct bench_option options[] = {
        {.name = "--json", .flag = &json},
        {.name = "--quick", .flag = &quick},
        {.name = "--no-times", .flag = &no_times},
        {.name = "--count", .number = &asked, .least = BATCH, .most = COUNT_MAX},
        {.name = NULL},
    };
    int count, status;

    if (help_asked(argc, argv, usage))
        return 0;
    status = bench_options_read("pingpong", options, argc - 1, argv + 1);
    if (status == 0 && asked % BATCH != 0)
        status = bench_usage_error("pingpong", "--count needs a multiple of 16", "");
    if (status != 0)
        return status;
    count = asked != 0 ? (int)asked : quick ? COUNT / 8 : COUNT;
    cpus_find();
    bind_thread(0);
    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0)
        fail("pipe");
    if (!json)
        printf("%-8s%12s%12s%12s\n", "case", "operations", "p50 us", "p99 us");
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        test_run(&tests[i], count, !no_times);
        test_print(&tests[i], count, !no_times, json);
        fflush(stdout);
    }
    return 0;
}
