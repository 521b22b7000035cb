/* The threads of a workload. userland/bench/workloads/team.h is the contract.
 *
 * A barrier is libgomp's or the C library's own. Before it, members count themselves, so that the last one is known. */
#include "userland/bench/workloads/team.h"

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "userland/bench/mark.h"
#include "userland/bench/workloads/placement.h"

#define SLOT_WORDS 8 /* a cache line for each member */

static struct {
    struct team_plan plan;
    void (*body)(int me);
    struct team_result *result;
    cpu_set_t given;       /* where the program may run */
    int cpus[CPU_SETSIZE]; /* the same, in order */
    int cpu_count;
    pthread_barrier_t barrier;
    atomic_int arrived;
    atomic_long moves;
    bool timing; /* written by the last to arrive at a barrier, while the others wait */
    struct message_counts before;
    struct timespec begin;
    double slots[TEAM_MAX][SLOT_WORDS];
} team;

/* Before libgomp's own constructor, which binds the first thread when OMP_PROC_BIND says so. */
__attribute__((constructor(101))) static void cpus_find(void)
{
    if (sched_getaffinity(0, sizeof(team.given), &team.given) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &team.given))
            team.cpus[team.cpu_count++] = cpu;
    }
}

bool team_cpus_restore(void)
{
    return sched_setaffinity(0, sizeof(team.given), &team.given) == 0;
}

/* The calling thread may use the CPU of member ME only, and is there on return. */
static bool member_bind(int me)
{
    cpu_set_t set;

    if (team.cpu_count == 0)
        return false;
    CPU_ZERO(&set);
    CPU_SET(team.cpus[me % team.cpu_count], &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static void clock_start(void)
{
    team.result->messages_known = message_counts_read(&team.before);
    clock_gettime(CLOCK_MONOTONIC, &team.begin);
    mark_begin(team.plan.region);
    mark_begin(team.plan.region + 1);
    team.timing = true;
    placement_begin();
}

static void clock_stop(void)
{
    struct timespec end;

    mark_end(team.plan.region + 1);
    mark_end(team.plan.region);
    clock_gettime(CLOCK_MONOTONIC, &end);
    team.timing = false;
    team.result->ns = (uint64_t)(end.tv_sec - team.begin.tv_sec) * 1000000000u +
                      (uint64_t)(end.tv_nsec - team.begin.tv_nsec);
    if (team.result->messages_known && message_counts_read(&team.result->messages))
        message_counts_since(&team.result->messages, &team.before);
}

static void phase_pass(void)
{
    if (team.timing) {
        mark_end(team.plan.region + 1);
        mark_begin(team.plan.region + 1);
    }
}

static void start_pass(void)
{
    mark_end(team.plan.region + 2);
}

/* All wait for all; the last to come calls LAST before any goes on. */
static void barrier_with(void (*last)(void))
{
    if (atomic_fetch_add(&team.arrived, 1) == team.plan.members - 1) {
        atomic_store(&team.arrived, 0);
        last();
    }
    if (team.plan.members == 1)
        return;
    if (team.plan.layer == TEAM_OPENMP) {
#pragma omp barrier
    } else {
        pthread_barrier_wait(&team.barrier);
    }
}

static void member_run(int me)
{
    if (team.plan.bind && !team.plan.pomp)
        member_bind(me);
    placement_member(me);
    barrier_with(start_pass);
    team.body(me);
    barrier_with(phase_pass);
}

static void *member_main(void *argument)
{
    member_run((int)(intptr_t)argument);
    return NULL;
}

static bool run_openmp(void)
{
    int members = team.plan.members;
    int there = 0;

    omp_set_dynamic(0);
#pragma omp parallel num_threads(members)
    {
        /* A smaller team would wait at the barriers for ever. */
        if (omp_get_num_threads() == members)
            member_run(omp_get_thread_num());
        else if (omp_get_thread_num() == 0)
            there = omp_get_num_threads();
    }
    if (there != 0)
        fprintf(stderr, "workload: OpenMP made %d threads of %d\n", there, members);
    return there == 0;
}

static bool run_pthreads(void)
{
    pthread_t threads[TEAM_MAX];
    int error = pthread_barrier_init(&team.barrier, NULL, (unsigned)team.plan.members);

    for (int me = 1; me < team.plan.members && error == 0; me++)
        error = pthread_create(&threads[me], NULL, member_main, (void *)(intptr_t)me);
    if (error != 0) { /* the threads that were made wait at their first barrier until the process exits */
        fprintf(stderr, "workload: a team of %d: %s\n", team.plan.members, strerror(error));
        return false;
    }
    member_run(0);
    for (int me = 1; me < team.plan.members; me++)
        pthread_join(threads[me], NULL);
    return true;
}

bool team_run(const struct team_plan *plan, void (*body)(int me), struct team_result *result)
{
    team.plan = *plan;
    team.body = body;
    team.result = result;
    *result = (struct team_result){0};
    if (plan->pomp && !member_bind(0)) {
        fprintf(stderr, "workload: cannot bind to the first CPU: %s\n", strerror(errno));
        return false;
    }
    mark_begin(plan->region + 2);
    if (plan->layer == TEAM_OPENMP ? !run_openmp() : !run_pthreads())
        return false;
    result->moves = atomic_load(&team.moves);
    return true;
}

int team_members(void)
{
    return team.plan.members;
}

void team_barrier(void)
{
    barrier_with(phase_pass);
}

void team_clock_begin(void)
{
    barrier_with(clock_start);
}

void team_clock_end(void)
{
    barrier_with(clock_stop);
}

void team_alone_begin(void)
{
    mark_begin(team.plan.region + 3);
}

void team_alone_end(void)
{
    mark_end(team.plan.region + 3);
}

void team_range(int me, long count, long *first, long *end)
{
    long each = count / team.plan.members;
    long more = count % team.plan.members; /* the first members have one more */

    *first = me * each + (me < more ? me : more);
    *end = *first + each + (me < more ? 1 : 0);
}

double team_sum(int me, double value)
{
    double sum = 0.0;

    team.slots[me][0] = value;
    team_barrier();
    for (int i = 0; i < team.plan.members; i++)
        sum += team.slots[i][0];
    team_barrier();
    return sum;
}

static void stage_move(int me, int where)
{
    if (!team.plan.pomp || me == 0)
        return;
    if (member_bind(where))
        atomic_fetch_add(&team.moves, 1);
    else
        fprintf(stderr, "workload: member %d cannot move: %s\n", me, strerror(errno));
}

void team_stage_begin(int me)
{
    stage_move(me, me);
}

void team_stage_end(int me)
{
    stage_move(me, 0);
}
