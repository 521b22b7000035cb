/* abibench: the C library's threads, one at each place, at one mutex or one barrier. They run in laps of some rounds,
 * which begin and end together; a sample is a lap, divided by what all did in it. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "userland/bench/abi/abibench.h"
#include "userland/bench/bench.h"
#include "userland/x86.h"

#define LAP 32   /* rounds: enough that the two meetings around them weigh little, few enough for some samples */
#define SPIN 200 /* turns of a loop in the mutex */

static struct team {
    int (*operate)(void);
    uint32_t laps;
    pthread_barrier_t start, barrier;
    pthread_mutex_t mutex;
    atomic_int error;
    atomic_uint arrived, turn; /* a barrier without the C library's spinning */
    uint32_t members;
    atomic_uint sum; /* what the mutex protects is read and written in two steps */
} team;

static void fail(int error)
{
    int none = 0;

    if (error != 0)
        atomic_compare_exchange_strong(&team.error, &none, error);
}

static void lap(void)
{
    pthread_barrier_wait(&team.start);
    for (uint32_t i = 0; i < LAP; i++)
        fail(team.operate());
    pthread_barrier_wait(&team.start);
}

static void *member(void *argument)
{
    fail(bench_unbind());
    fail(bench_go((int)(intptr_t)argument));
    for (uint32_t i = 0; i <= team.laps; i++)
        lap();
    return NULL;
}

/* The first lap is to warm up. How threads end is no part of any. */
static void lead(uint32_t operations)
{
    lap();
    for (uint32_t i = 0; i < team.laps; i++) {
        bench_clock_begin();
        bench_mark();
        lap();
        bench_unmark();
        bench_clock_end(operations);
    }
}

/* OPERATE is an operation by each member, or with TOGETHER one of all. */
static int run(const struct abibench_case *bench, uint32_t count, int (*operate)(void), bool together)
{
    pthread_t threads[ABIBENCH_MEMBERS_MAX];
    int started = 0, error = bench_bind_here();

    team.operate = operate;
    team.members = (uint32_t)bench->members;
    team.laps = (count + LAP - 1) / LAP;
    atomic_store(&team.error, 0);
    atomic_store(&team.sum, 0);
    pthread_mutex_init(&team.mutex, NULL);
    pthread_barrier_init(&team.start, NULL, (unsigned)bench->members);
    pthread_barrier_init(&team.barrier, NULL, (unsigned)bench->members);
    for (int i = 1; i < bench->members && error == 0; i++) {
        error = pthread_create(&threads[i], NULL, member, (void *)(intptr_t)i);
        started += error == 0;
    }
    if (error != 0) /* who has begun waits at the barrier for ever */
        return bench_failed("pthread_create", error);
    lead(together ? LAP : LAP * (uint32_t)bench->members);
    for (int i = 1; i <= started; i++)
        pthread_join(threads[i], NULL);
    return atomic_load(&team.error);
}

/* The mutex is wanted by all others meanwhile. */
static int locked(void)
{
    unsigned before;
    int error = pthread_mutex_lock(&team.mutex);

    if (error != 0)
        return bench_failed("pthread_mutex_lock", error);
    before = atomic_load_explicit(&team.sum, memory_order_relaxed);
    for (volatile int i = 0; i < SPIN; i++)
        continue;
    atomic_store_explicit(&team.sum, before + 1, memory_order_relaxed);
    return pthread_mutex_unlock(&team.mutex) == 0 ? 0 : bench_failed("pthread_mutex_unlock", EPERM);
}

int abibench_run_mutex_team(const struct abibench_case *bench, uint32_t count)
{
    int error = run(bench, count, locked, false);

    if (error == 0 && atomic_load(&team.sum) != (team.laps + 1) * LAP * (uint32_t)bench->members)
        return bench_failed("a mutex that excludes", EPROTO);
    return error;
}

static int met(void)
{
    int result = pthread_barrier_wait(&team.barrier);

    return result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : bench_failed("pthread_barrier_wait", result);
}

int abibench_run_barrier(const struct abibench_case *bench, uint32_t count)
{
    return run(bench, count, met, true);
}

/* Who is not the last sleeps at once. */
static int met_asleep(void)
{
    uint32_t turn = atomic_load(&team.turn);
    long result = 0;

    if (atomic_fetch_add(&team.arrived, 1) + 1 == team.members) {
        atomic_store(&team.arrived, 0);
        atomic_store(&team.turn, turn + 1);
        result = x86_syscall3(SYS_futex, (long)&team.turn, FUTEX_WAKE_PRIVATE, INT_MAX);
    }
    while (result >= 0 && atomic_load(&team.turn) == turn) {
        result = x86_syscall(SYS_futex, (long)&team.turn, FUTEX_WAIT_PRIVATE, turn, 0, 0, 0);
        if (result == -EAGAIN || result == -EINTR)
            result = 0;
    }
    return result >= 0 ? 0 : bench_failed("futex", (int)-result);
}

int abibench_run_barrier_asleep(const struct abibench_case *bench, uint32_t count)
{
    return run(bench, count, met_asleep, true);
}
