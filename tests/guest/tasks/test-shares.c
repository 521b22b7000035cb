/* test-shares: who gets how much of a CPU: by nice value, in a crowd, and that sleep is not counted.
 *
 * How much of the CPU's time a host gives to an emulated CPU, and when, is in what is measured here: the promises hold
 * where the machine's time counts instructions (--icount), or nothing else runs on the host. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define UNIT 20000       /* turns of a loop that are one piece of work */
#define SHARE_UNITS 6000 /* of the thread with the larger share */
#define CROWD 200

struct worker {
    struct thread thread;
    int nice;
    atomic_long done;
    atomic_long used; /* ns of CPU time */
};

static struct worker workers[CROWD];
static cpu_set_t cpu; /* on which all work */
static atomic_int begun;
static atomic_int begin_at;
static atomic_bool over;

static long bind_to_cpu(void)
{
    return x86_syscall3(SYS_sched_setaffinity, 0, sizeof(cpu), (long)&cpu);
}

static void nap(void)
{
    struct timespec time = {.tv_nsec = 2000000};

    nanosleep(&time, NULL);
}

static long cpu_time(void)
{
    struct timespec time = {0};

    x86_syscall3(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&time, 0);
    return time.tv_sec * 1000000000l + time.tv_nsec;
}

static void work(void)
{
    for (volatile int i = 0; i < UNIT; i++) {
    }
    x86_pause(); /* lets another CPU of an emulator run */
}

static void run_worker(struct thread *thread)
{
    struct worker *worker = thread->argument;
    bool good = bind_to_cpu() == 0 && x86_syscall3(SYS_setpriority, PRIO_PROCESS, 0, worker->nice) == 0;

    atomic_store(&thread->result, good);
    atomic_fetch_add(&begun, 1);
    while (atomic_load(&begun) < atomic_load(&begin_at))
        x86_syscall0(SYS_sched_yield);
    while (!atomic_load(&over)) {
        work();
        atomic_fetch_add_explicit(&worker->done, 1, memory_order_relaxed);
    }
    atomic_store(&worker->used, cpu_time());
}

/* Starts COUNT workers on one CPU, with nice values if NICE is not NULL. */
static bool workers_start(int count, const int *nice)
{
    atomic_store(&over, false);
    atomic_store(&begun, 0);
    atomic_store(&begin_at, count);
    for (int i = 0; i < count; i++) {
        workers[i] = (struct worker){.nice = nice != NULL ? nice[i] : 0};
        workers[i].thread.argument = &workers[i];
        if (!CHECK(thread_start(&workers[i].thread, run_worker), "thread %d: %s", i, strerror(errno))) {
            atomic_store(&begin_at, i);
            atomic_store(&over, true);
            for (int j = 0; j < i; j++)
                thread_join(&workers[j].thread);
            return false;
        }
    }
    return true;
}

static void workers_end(int count)
{
    atomic_store(&over, true);
    for (int i = 0; i < count; i++) {
        CHECK(thread_join(&workers[i].thread), "thread %d does not end", i);
        CHECK(atomic_load(&workers[i].thread.result) == 1, "thread %d could not bind itself or set its nice value", i);
    }
}

/* Two threads on one CPU work until one has done enough. What one did for each of the other, and what CPU time the
 * kernel says that it had for each of the other's, are between LEAST and MOST hundredths. */
static void expect_ratio(int nice_a, int nice_b, long least, long most)
{
    int nice[2] = {nice_a, nice_b};
    long a, b, used_a, used_b, done, used;

    if (!workers_start(2, nice))
        return;
    do {
        nap();
        a = atomic_load(&workers[0].done);
        b = atomic_load(&workers[1].done);
    } while (a < SHARE_UNITS && b < SHARE_UNITS);
    workers_end(2);
    used_a = atomic_load(&workers[0].used);
    used_b = atomic_load(&workers[1].used);
    tap_note("nice %d: %ld, nice %d: %ld pieces of work, in %ld and %ld us of CPU time", nice_a, a, nice_b, b,
             used_a / 1000, used_b / 1000);
    done = 100 * a / (b > 0 ? b : 1);
    used = 100 * used_a / (used_b > 0 ? used_b : 1);
    CHECK(done > least && done < most, "the ratio of work is %ld / 100", done);
    CHECK(used > least && used < most, "the ratio of CPU time is %ld / 100", used);
}

static void test_equal(void)
{
    expect_ratio(0, 0, 95, 105);
}

static void test_nice(void)
{
    expect_ratio(0, 5, 280, 330); /* 3.06 by weight */
}

static void test_nice_far(void)
{
    expect_ratio(0, 15, 2000, 3500); /* 28.4 by weight */
}

static void test_crowd(void)
{
    int behind;

    if (!workers_start(CROWD, NULL))
        return;
    do { /* never fewer than some means a hang, which whoever runs this program sees */
        nap();
        behind = 0;
        for (int i = 0; i < CROWD; i++)
            behind += atomic_load(&workers[i].done) < 3;
    } while (behind > 0);
    workers_end(CROWD);
}

static void test_sleep(void)
{
    long before = thread_time(), used = cpu_time(), slept;

    for (int i = 0; i < 20; i++)
        nap();
    used = cpu_time() - used;
    slept = thread_time() - before;
    CHECK(used < slept / 2, "%ld ns used in %ld ns of sleep", used, slept);
}

static const struct tap_test tests[] = {
    {"equal", "two threads of the same nice value on one CPU get the same time", test_equal},
    {"nice", "a thread of nice 0 gets about three times what one of nice 5 gets", test_nice},
    {"nice-far", "a thread of nice 15 gets little CPU time, but some", test_nice_far},
    {"crowd", "200 threads of one CPU all make progress", test_crowd},
    {"sleep", "the CPU clock of a thread that sleeps stands still", test_sleep},
};

int main(int argc, char **argv)
{
    CPU_ZERO(&cpu);
    CPU_SET(sched_getcpu(), &cpu);
    bind_to_cpu();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
