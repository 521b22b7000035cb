/* test-balance: where threads begin and where the balancer takes them. The machine is booted with the options that the
 * argument names, one CPU for each kernel: spread, local (also for balance=off), least-loaded, active. Nothing here is
 * about how long something takes. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define WORDS 4       /* of a CPU mask */
#define LIMIT 8       /* kernels that are used */
#define WARM 50       /* rounds of work after which a thread has all its pages */
#define LOOKS 300     /* while nothing may move */
#define PATIENCE 6000 /* naps until something that has to happen has */
#define MOVES_FEW 4   /* of two threads until each has a kernel for itself */

static struct thread spinners[LIMIT];
static atomic_int first[LIMIT]; /* kernel where each ran first, or -1 */
static atomic_int last[LIMIT];
static atomic_int moves[LIMIT];  /* times that it saw itself on another kernel than before */
static atomic_int rounds[LIMIT]; /* of work */
static atomic_bool over;

static void nap(void)
{
    struct timespec time = {.tv_nsec = 10000000};

    nanosleep(&time, NULL);
}

static void run_spinner(struct thread *thread)
{
    int i = thread->index, here = thread_kernel();

    atomic_store(&last[i], here);
    atomic_store(&first[i], here);
    while (!atomic_load(&over)) {
        for (volatile int turn = 0; turn < 20000; turn++) {
        }
        atomic_fetch_add(&rounds[i], 1);
        here = thread_kernel();
        if (here != atomic_load(&last[i])) {
            atomic_store(&last[i], here);
            atomic_fetch_add(&moves[i], 1);
        }
    }
}

static void run_waiter(struct thread *thread)
{
    atomic_store(&first[thread->index], thread_kernel());
    while (!atomic_load(&over)) {
        atomic_store(&last[thread->index], thread_kernel());
        nap();
    }
}

/* Waits until *KERNEL, of thread I, is HERE, or is known if HERE is negative. */
static void seen_wait(const atomic_int *kernel, int i, int here)
{
    for (int look = 0; look < PATIENCE && (here < 0 ? atomic_load(kernel) < 0 : atomic_load(kernel) != here); look++)
        nap();
    CHECK(atomic_load(kernel) >= 0 && (here < 0 || atomic_load(kernel) == here), "thread %d is on kernel %d, not %d", i,
          atomic_load(kernel), here);
}

/* Starts one more and waits until it has its pages and only computes: a thread that waits for one needs no CPU. */
static bool spinner_start(int i)
{
    atomic_store(&first[i], -1);
    atomic_store(&moves[i], 0);
    atomic_store(&rounds[i], 0);
    spinners[i].index = i;
    if (!CHECK(thread_start(&spinners[i], run_spinner), "%s", strerror(errno)))
        return false;
    seen_wait(&first[i], i, -1);
    for (int look = 0; look < PATIENCE && atomic_load(&rounds[i]) < WARM; look++)
        nap();
    CHECK(atomic_load(&rounds[i]) >= WARM, "thread %d computes nothing", i);
    return true;
}

static void spinners_end(int count)
{
    atomic_store(&over, true);
    for (int i = 0; i < count; i++)
        CHECK(thread_join(&spinners[i]), "thread %d does not end", i);
    atomic_store(&over, false);
}

/* How many different kernels there are among the first COUNT of KERNELS, of which some may be unknown. */
static int different(const atomic_int *kernels, int count)
{
    unsigned long seen = 0;

    for (int i = 0; i < count; i++)
        seen |= atomic_load(&kernels[i]) >= 0 ? 1ul << atomic_load(&kernels[i]) : 0;
    return __builtin_popcountl(seen);
}

/* Lets the calling thread, and those it makes, use the first COUNT places. */
static void allow(int count)
{
    unsigned long mask[WORDS] = {0};

    for (int place = 0; place < count; place++) {
        int cpu, cpus = place_cpus(place, &cpu);

        for (int i = 0; i < cpus; i++, cpu++)
            mask[cpu / 64] |= 1ul << cpu % 64;
    }
    CHECK(x86_syscall3(SYS_sched_setaffinity, 0, sizeof(mask), (long)mask) == 0, "%d places are not allowed", count);
}

/* How many threads this process has. The home counts one that ends after its birth kernel has heard of its end. */
static int threads_left(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    int count = -1;

    while (file != NULL && count < 0 && fgets(line, sizeof(line), file) != NULL)
        (void)sscanf(line, "Threads: %d", &count);
    if (file != NULL)
        fclose(file);
    return count;
}

/* Waits until the boards of the other kernels, by which threads are placed, show no threads. */
static void boards_settle(void)
{
    int here = thread_kernel(), busy = 1;

    for (int i = 0; i < PATIENCE && busy != 0; i++) {
        FILE *file = fopen("/proc/kettle/balance", "r");
        char line[1024];

        if (!CHECK(file != NULL, "%s", strerror(errno)))
            return;
        busy = 0;
        while (fgets(line, sizeof(line), file) != NULL) {
            const char *threads = strstr(line, " threads ");
            int kernel = -1, count = -1;

            CHECK(threads != NULL && sscanf(line, "kernel %d ", &kernel) == 1 &&
                      sscanf(threads, " threads %d", &count) == 1,
                  "/proc/kettle/balance: %s", line);
            busy += kernel != here && count != 0;
        }
        fclose(file);
        if (busy != 0)
            nap();
    }
    CHECK(busy == 0, "%d kernels stay busy", busy);
}

/* Waits until nothing by which threads are placed shows those that have ended. */
static void ended_settle(void)
{
    for (int i = 0; i < PATIENCE && threads_left() != 1; i++)
        nap();
    CHECK(threads_left() == 1, "%d threads are left", threads_left());
    boards_settle();
}

/* The calling thread needs a CPU while it starts the others. */
static void test_spread(void)
{
    int count = place_few(LIMIT) - 1, started = 0, here = thread_kernel();

    ended_settle();
    while (started < count && spinner_start(started))
        started++;
    CHECK(different(first, started) == count, "%d busy threads began on %d kernels", started,
          different(first, started));
    for (int i = 0; i < started; i++)
        CHECK(atomic_load(&first[i]) != here, "thread %d began where another runs", i);
    spinners_end(started);
}

/* As the threads of a team do that wait for the last one to be made. */
static void test_waiters(void)
{
    int count = place_few(LIMIT) - 1, started = 0, here = thread_kernel();

    ended_settle();
    for (; started < count; started++) {
        atomic_store(&first[started], -1);
        spinners[started].index = started;
        if (!CHECK(thread_start(&spinners[started], run_waiter), "%s", strerror(errno)))
            break;
        seen_wait(&first[started], started, -1);
    }
    CHECK(different(first, started) == count, "%d threads that wait began on %d kernels", started,
          different(first, started));
    for (int i = 0; i < started; i++)
        CHECK(atomic_load(&first[i]) != here, "thread %d began where another runs", i);
    spinners_end(started);
}

/* Makes waiters FROM to FROM + COUNT - 1 without waiting for any, as pthread_create does, and then waits until all have
 * begun. False: not all could be made. */
static bool waiters_start(int from, int count)
{
    for (int i = from; i < from + count; i++) {
        atomic_store(&first[i], -1);
        spinners[i].index = i;
    }
    for (int i = from; i < from + count; i++) {
        if (!CHECK(thread_start(&spinners[i], run_waiter), "%s", strerror(errno)))
            return false;
    }
    for (int i = from; i < from + count; i++)
        seen_wait(&first[i], i, -1);
    return true;
}

/* The last one begins beside its maker: the others are on their way, although they may not have left yet. */
static void test_together(void)
{
    int count = place_few(LIMIT);

    ended_settle();
    if (!waiters_start(0, count))
        return;
    CHECK(different(first, count) == count, "%d threads, made at once, began on %d kernels", count,
          different(first, count));
    spinners_end(count);
}

/* One that was made for another kernel and is bound to this one before it has left is not counted there. */
static void test_stays(void)
{
    int count = place_few(LIMIT), here = thread_kernel();

    ended_settle();
    atomic_store(&first[0], -1);
    atomic_store(&last[0], -1);
    spinners[0].index = 0;
    if (!CHECK(thread_start(&spinners[0], run_waiter), "%s", strerror(errno)))
        return;
    CHECK(place_push(spinners[0].tid_first, here) == 0, "the first thread cannot be bound");
    seen_wait(&first[0], 0, -1);
    seen_wait(&last[0], 0, here);
    boards_settle(); /* it may have been elsewhere */
    if (!waiters_start(1, count - 1))
        return;
    CHECK(different(&first[1], count - 1) == count - 1, "%d threads began on %d kernels", count - 1,
          different(&first[1], count - 1));
    for (int i = 1; i < count; i++)
        CHECK(atomic_load(&first[i]) != here, "thread %d began where two are", i);
    spinners_end(count);
}

static void test_allowed(void)
{
    int count = place_few(LIMIT), started = 0;

    allow(2);
    while (started < count && spinner_start(started))
        started++;
    for (int i = 0; i < started; i++)
        CHECK(atomic_load(&first[i]) < 2, "thread %d began on kernel %d", i, atomic_load(&first[i]));
    spinners_end(started);
    allow(place_count());
}

static void test_local(void)
{
    int count = place_few(LIMIT), started = 0, here = thread_kernel();

    while (started < count && spinner_start(started))
        started++;
    for (int i = 0; i < LOOKS; i++)
        nap();
    for (int i = 0; i < started; i++)
        CHECK(atomic_load(&last[i]) == here && atomic_load(&moves[i]) == 0, "thread %d is on kernel %d, not %d", i,
              atomic_load(&last[i]), here);
    spinners_end(started);
}

/* A kernel with two busy threads is not the one with the least load. */
static void test_least_loaded(void)
{
    int loaded = place_count() - 1;

    for (int i = 0; i < 2; i++) {
        if (!spinner_start(i))
            return;
        CHECK(place_push(spinners[i].tid_first, loaded) == 0, "thread %d does not go", i);
        seen_wait(&last[i], i, loaded);
    }
    for (int i = 2; i < 4; i++) {
        if (!spinner_start(i))
            return;
        CHECK(atomic_load(&first[i]) != loaded, "thread %d began on the busy kernel", i);
    }
    spinners_end(4);
}

/* Two that begin on one kernel end up on two, and then stay: a move back would be one too many. */
static void test_active(void)
{
    int all = 0;

    if (!spinner_start(0) || !spinner_start(1))
        return;
    for (int i = 0; i < PATIENCE && different(last, 2) < 2; i++)
        nap();
    CHECK(different(last, 2) == 2, "two busy threads stay on one kernel");
    for (int i = 0; i < LOOKS; i++)
        nap();
    for (int i = 0; i < 2; i++)
        all += atomic_load(&moves[i]);
    tap_note("%d moves", all);
    CHECK(all <= MOVES_FEW, "%d moves", all);
    spinners_end(2);
}

static void test_bound(void)
{
    int here = thread_kernel();

    for (int i = 0; i < 2; i++) {
        if (!spinner_start(i))
            return;
        CHECK(place_push(spinners[i].tid_first, here) == 0, "thread %d cannot be bound", i);
        seen_wait(&last[i], i, here);
        atomic_store(&moves[i], 0);
    }
    for (int i = 0; i < LOOKS; i++)
        nap();
    for (int i = 0; i < 2; i++)
        CHECK(atomic_load(&moves[i]) == 0 && atomic_load(&last[i]) == here, "bound thread %d was moved", i);
    spinners_end(2);
}

static const struct tap_test spread[] = {
    {"spread", "as many threads as kernels run on all of them", test_spread},
    {"together", "as many threads as kernels, made at once, begin on all of them", test_together},
    {"stays", "a thread that stays where it was made leaves the other kernels free", test_stays},
    {"waiters", "as many threads that wait while the others are made run on all kernels", test_waiters},
    {"allowed", "threads begin where their affinity lets them", test_allowed},
};
static const struct tap_test local[] = {
    {"local", "threads begin, and stay, on the kernel of their parent", test_local}};
static const struct tap_test least_loaded[] = {
    {"least-loaded", "threads do not begin on the busiest kernel", test_least_loaded},
    {"allowed", "threads begin where their affinity lets them", test_allowed},
};
static const struct tap_test active[] = {
    {"active", "two busy threads of one kernel are moved apart, and stay so", test_active},
    {"bound", "threads that are bound are not moved", test_bound},
};

int main(int argc, char **argv)
{
    if (place_count() < 2) {
        tap_note("one kernel");
        return 1;
    }
    if (tap_take(&argc, &argv, "spread"))
        return tap_run(argc, argv, spread, TAP_COUNT(spread));
    if (tap_take(&argc, &argv, "local"))
        return tap_run(argc, argv, local, TAP_COUNT(local));
    if (tap_take(&argc, &argv, "least-loaded"))
        return tap_run(argc, argv, least_loaded, TAP_COUNT(least_loaded));
    if (tap_take(&argc, &argv, "active"))
        return tap_run(argc, argv, active, TAP_COUNT(active));
    fprintf(stderr, "usage: test-balance spread|local|least-loaded|active [TEST...]\n");
    return 2;
}
