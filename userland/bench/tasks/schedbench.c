/* schedbench: what the scheduler costs, in instructions: run it with --count. Needs nothing but clone, yield, sleep
 * and, for the last two, a second kernel.
 *
 *     tools/kettle run --cpus 2 --icount 3 --seed 1 --count -- schedbench
 *
 * Region 1: N yields between two threads of one CPU: N switches. 2: N short sleeps: block, timer, wake, two switches.
 * 3: N moves to another kernel and back. 4: N calls that another kernel answers from a worker: block and wake on both
 * sides. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "libc/kettle.h"
#include "userland/bench/mark.h"
#include "userland/help.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define YIELDS 2000
#define SLEEPS 200
#define SLEEP_NS 200000
#define MOVES 100
#define CALLS 200

enum { REGION_YIELD = 1, REGION_SLEEP, REGION_MOVE, REGION_CALL };

static const char usage[] = "usage: schedbench [yield|sleep|move|call]\n"
                            "\n"
                            "Yields, sleeps, moves and remote calls between markers, or one of these: run it with "
                            "--count.\n";

static atomic_bool over;

static void yield_until_over(struct thread *thread)
{
    (void)thread;
    while (!atomic_load(&over))
        x86_syscall0(SYS_sched_yield);
}

static bool measure_yield(void)
{
    static struct thread other;

    if (!thread_start(&other, yield_until_over))
        return false;
    for (int i = 0; i < 100; i++)
        x86_syscall0(SYS_sched_yield);
    mark_begin(REGION_YIELD);
    for (int i = 0; i < YIELDS / 2; i++) /* the other thread does the other half */
        x86_syscall0(SYS_sched_yield);
    mark_end(REGION_YIELD);
    atomic_store(&over, true);
    return thread_join(&other);
}

static void measure_sleep(void)
{
    struct timespec time = {.tv_nsec = SLEEP_NS};

    nanosleep(&time, NULL);
    mark_begin(REGION_SLEEP);
    for (int i = 0; i < SLEEPS; i++)
        nanosleep(&time, NULL);
    mark_end(REGION_SLEEP);
}

static void measure_moves(void)
{
    int there = 1;

    if (kettle_migrate(there) != 0 || kettle_migrate(0) != 0)
        return;
    mark_begin(REGION_MOVE);
    for (int i = 0; i < MOVES; i++) {
        kettle_migrate(there);
        kettle_migrate(0);
    }
    mark_end(REGION_MOVE);
}

static void measure_calls(void)
{
    struct stat facts;

    if (kettle_migrate(1) != 0)
        return;
    fstat(0, &facts);
    mark_begin(REGION_CALL);
    for (int i = 0; i < CALLS; i++)
        fstat(0, &facts);
    mark_end(REGION_CALL);
    kettle_migrate(0);
}

static bool wanted(const char *argument, const char *what)
{
    return argument == NULL || strcmp(argument, what) == 0;
}

int main(int argc, char **argv)
{
    if (help_asked(argc, argv, usage))
        return 0;
    if (wanted(argv[1], "yield") && !measure_yield()) {
        fputs("schedbench: no second thread\n", stderr);
        return 1;
    }
    if (wanted(argv[1], "sleep"))
        measure_sleep();
    if (kettle_kernels() > 1 && wanted(argv[1], "move"))
        measure_moves();
    if (kettle_kernels() > 1 && wanted(argv[1], "call"))
        measure_calls();
    printf("%d yields, %d sleeps, %d moves, %d calls\n", YIELDS, SLEEPS, MOVES, CALLS);
    return 0;
}
