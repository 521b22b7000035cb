/* A team of threads. userland/bench/bench_team.h is the contract.
 *
 * A round has two steps: all threads go to their places, and when the last one is there, it passes the region's begin
 * and wakes the others; the last one that is done passes its end. Whoever waits sleeps in a futex, so that what CPUs
 * execute in user mode in between is the work alone. */
#include "userland/bench/bench_team.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"
#include "userland/bench/mark.h"

/* futex(2), with FUTEX_PRIVATE_FLAG: the C library has no header for it. */
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

struct member {
    pthread_t thread;
    atomic_int rounds; /* in which it takes part, begun */
    struct bench_job job;
};

static struct member members[BENCH_PLACES_MAX];
static int member_count;
static unsigned round_region;
static atomic_int coming; /* members of the round that are not at their places yet */
static atomic_int starts; /* rounds in which all are at their places */
static atomic_int working;
static atomic_int ends; /* rounds in which all are done */
static atomic_int failure;
static bool ending;

static void wait_while(atomic_int *word, int value)
{
    while (atomic_load(word) == value)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void add_and_wake(atomic_int *word)
{
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void take_part(struct member *member)
{
    int start = atomic_load(&starts);
    int error = bench_go(member->job.place);

    if (atomic_fetch_sub(&coming, 1) == 1) {
        if (round_region != 0)
            mark_begin(round_region);
        add_and_wake(&starts);
    } else {
        wait_while(&starts, start);
    }
    if (error == 0)
        error = member->job.work(member->job.argument);
    if (error != 0)
        atomic_store(&failure, error);
    if (atomic_fetch_sub(&working, 1) == 1) {
        if (round_region != 0)
            mark_end(round_region);
        add_and_wake(&ends);
    }
}

static void *member_run(void *argument)
{
    struct member *member = argument;

    for (int round = 0;; round++) {
        wait_while(&member->rounds, round);
        if (ending)
            return NULL;
        take_part(member);
    }
}

int bench_team_start(int count)
{
    for (member_count = 0; member_count < count; member_count++) {
        struct member *member = &members[member_count];
        int error = pthread_create(&member->thread, NULL, member_run, member);

        if (error != 0)
            return bench_failed("a thread", error);
    }
    return 0;
}

int bench_team_run(const struct bench_job *jobs, int first, int count, unsigned region)
{
    int end = atomic_load(&ends);

    round_region = region;
    atomic_store(&coming, count);
    atomic_store(&working, count);
    atomic_store(&failure, 0);
    for (int i = 0; i < count; i++)
        members[first + i].job = jobs[i];
    for (int i = 0; i < count; i++)
        add_and_wake(&members[first + i].rounds);
    wait_while(&ends, end);
    return atomic_load(&failure);
}

void bench_team_end(void)
{
    ending = true;
    for (int i = 0; i < member_count; i++) {
        add_and_wake(&members[i].rounds);
        pthread_join(members[i].thread, NULL);
    }
}
