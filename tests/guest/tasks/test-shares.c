/* test-shares: the CPU time that threads of one CPU get by their nice values, and what a CPU clock counts. For a
 * machine whose clock goes by instructions: a host that stops an emulated CPU charges the time to whoever was running.
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define UNIT 20000       /* turns of a loop that are one piece of work */
#define SHARE_UNITS 6000 /* of the thread with the larger share */
#define NAP_NS 2000000

struct worker {
    struct thread thread;
    int nice;
    atomic_long done; /* pieces of work */
    atomic_long used; /* ns of CPU time */
};
static struct worker workers[2];
static atomic_int begun;
static atomic_bool over;

/* Threads that are started from now on stay on this CPU, with the caller. */
static void stay(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    MUST(sched_setaffinity(0, sizeof(set), &set));
}

static void work(void)
{
    for (volatile int i = 0; i < UNIT; i++) {
    }
}

static void nap(void)
{
    struct timespec time = {.tv_nsec = NAP_NS};

    nanosleep(&time, NULL);
}

static long clock_ns(clockid_t id)
{
    struct timespec time = {0};

    return x86_syscall3(SYS_clock_gettime, id, (long)&time, 0) == 0 ? time.tv_sec * 1000000000l + time.tv_nsec : -1;
}

static void run_worker(struct thread *thread)
{
    struct worker *worker = thread->argument;

    atomic_store(&thread->result, x86_syscall3(SYS_setpriority, PRIO_PROCESS, 0, worker->nice));
    atomic_fetch_add(&begun, 1);
    while (atomic_load(&begun) < 2)
        x86_syscall0(SYS_sched_yield);
    while (!atomic_load(&over)) {
        work();
        atomic_fetch_add_explicit(&worker->done, 1, memory_order_relaxed);
    }
    atomic_store(&worker->used, clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

/* Two threads, of nice 0 and of NICE, share a CPU until one has done enough: what the first has done, and used, for
 * each of the other is between LEAST and MOST hundredths. */
static void expect_ratio(int nice, long least, long most)
{
    long a, b, used_a, used_b;

    atomic_store(&over, false);
    atomic_store(&begun, 0);
    for (int i = 0; i < 2; i++) {
        workers[i] = (struct worker){.nice = i * nice};
        workers[i].thread.argument = &workers[i];
        MUST(thread_start(&workers[i].thread, run_worker) ? 0 : -1);
    }
    do {
        nap();
        a = atomic_load(&workers[0].done);
        b = atomic_load(&workers[1].done);
    } while (a < SHARE_UNITS && b < SHARE_UNITS);
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++) {
        CHECK(thread_join(&workers[i].thread), "thread %d does not end", i);
        CHECK(atomic_load(&workers[i].thread.result) == 0, "thread %d: %s", i,
              strerror((int)-atomic_load(&workers[i].thread.result)));
    }
    used_a = atomic_load(&workers[0].used);
    used_b = atomic_load(&workers[1].used);
    tap_note("nice 0: %ld, nice %d: %ld pieces of work, in %ld and %ld us of CPU time", a, nice, b, used_a / 1000,
             used_b / 1000);
    CHECK(100 * a > least * b && 100 * a < most * b, "%ld to %ld pieces of work", a, b);
    CHECK(100 * used_a > least * used_b && 100 * used_a < most * used_b, "%ld to %ld ns", used_a, used_b);
}

static void test_equal(void)
{
    expect_ratio(0, 95, 105);
}

static void test_nice(void)
{
    expect_ratio(5, 280, 330); /* 3.06 by weight */
}

static void test_nice_far(void)
{
    expect_ratio(15, 2000, 3500); /* 28.4 by weight */
}

static void test_sleep(void)
{
    long before = clock_ns(CLOCK_THREAD_CPUTIME_ID), used;

    for (int i = 0; i < 20; i++)
        nap();
    used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    CHECK(used < 20l * NAP_NS / 20, "%ld ns used in %d ns of sleep", used, 20 * NAP_NS);
}

static const struct tap_test tests[] = {
    {"equal", "two threads of the same nice value on one CPU get the same time", test_equal},
    {"nice", "a thread of nice 0 gets three times what one of nice 5 gets", test_nice},
    {"nice-far", "a thread of nice 15 gets little CPU time, but some", test_nice_far},
    {"sleep", "a CPU clock does not count sleep", test_sleep},
};

int main(int argc, char **argv)
{
    stay();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
