/* abibench: the C library's threads, one at each place, at one mutex or one barrier. They begin together; what is
 * measured is all rounds of all, divided by what they did. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "userland/abibench.h"
#include "userland/bench.h"

#define WARM_UP 4
#define SPIN 200 /* turns of a loop in the mutex */

static struct team {
    int (*operate)(void);
    uint32_t count;
    pthread_barrier_t start, barrier;
    pthread_mutex_t mutex;
    atomic_int error;
    atomic_uint sum; /* what the mutex protects is read and written in two steps */
} team;

static void fail(int error)
{
    int none = 0;

    if (error != 0)
        atomic_compare_exchange_strong(&team.error, &none, error);
}

static void rounds(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fail(team.operate());
}

static void *member(void *argument)
{
    fail(bench_unbind());
    fail(bench_go((int)(intptr_t)argument));
    pthread_barrier_wait(&team.start);
    rounds(WARM_UP);
    pthread_barrier_wait(&team.start);
    rounds(team.count);
    pthread_barrier_wait(&team.start);
    return NULL;
}

static void lead(void)
{
    pthread_barrier_wait(&team.start);
    rounds(WARM_UP);
    bench_clock_begin();
    bench_mark();
    pthread_barrier_wait(&team.start);
    rounds(team.count);
    pthread_barrier_wait(&team.start);
    bench_unmark();
}

static int run(const struct abibench_case *bench, uint32_t count, int (*operate)(void), uint32_t operations)
{
    pthread_t threads[ABIBENCH_MEMBERS_MAX];
    int started = 0, error = bench_bind_here();

    team.operate = operate;
    team.count = count;
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
    lead();
    for (int i = 1; i <= started; i++)
        pthread_join(threads[i], NULL);
    bench_clock_end(operations);
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
    uint32_t all = count * (uint32_t)bench->members;
    int error = run(bench, count, locked, all);

    if (error == 0 && atomic_load(&team.sum) != all + WARM_UP * (uint32_t)bench->members)
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
    return run(bench, count, met, count);
}
