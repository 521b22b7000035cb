/* taskbench: threads that begin and end. Joining is futex(2) on the thread id that the kernel clears, without and with
 * the C library; without futexes these rows are absent. */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/bench/tasks/taskbench.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define FUTEX_WAIT 0 /* not a private one: the kernel wakes by the shared name */
#define FUTEX_WAKE 1
#define WARM_UP 4
#define ASLEEP_NS 500000

int taskbench_need_futex(void)
{
    static int word;
    long result = x86_syscall3(SYS_futex, (long)&word, FUTEX_WAKE, 1);

    return result >= 0 ? 0 : bench_failed("futex", (int)-result);
}

static void join(struct thread *thread)
{
    int tid;

    while ((tid = atomic_load(&thread->tid)) != 0)
        x86_syscall(SYS_futex, (long)&thread->tid, FUTEX_WAIT, tid, 0, 0, 0);
}

static void thread_nothing(struct thread *thread)
{
    (void)thread;
}

static void thread_go(struct thread *thread)
{
    atomic_store(&thread->result, bench_move(HOW_USUAL, thread->index));
}

/* COUNT threads that run RUN, one after another on one stack, each begun and joined here. */
static int clones(uint32_t count, void (*run)(struct thread *), int index)
{
    struct thread thread = {.index = index};
    int error = taskbench_need_futex();

    if (error != 0)
        return error;
    for (uint32_t i = 0; i < count + WARM_UP; i++) {
        bool started;

        if (i >= WARM_UP)
            bench_begin();
        started = (i == 0 ? thread_start : thread_again)(&thread, run);
        if (!started)
            return bench_failed("clone", errno);
        join(&thread);
        if (i >= WARM_UP)
            bench_end();
        if (atomic_load(&thread.result) != 0)
            return bench_failed("a thread's move", (int)atomic_load(&thread.result));
    }
    return thread_join(&thread) ? 0 : bench_failed("ending a thread", ETIMEDOUT);
}

int taskbench_run_clone_join(const struct taskbench_case *bench, uint32_t count)
{
    int error = bench_bind_here();

    (void)bench;
    return error != 0 ? error : clones(count, thread_nothing, 0);
}

int taskbench_run_clone_move_join(const struct taskbench_case *bench, uint32_t count)
{
    return clones(count, thread_go, bench_place_of(bench->where));
}

static void *pthread_nothing(void *argument)
{
    return argument;
}

int taskbench_run_pthread_join(const struct taskbench_case *bench, uint32_t count)
{
    int error = taskbench_need_futex();

    (void)bench;
    if (error == 0)
        error = bench_bind_here();
    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        pthread_t thread;

        if (i >= WARM_UP)
            bench_begin();
        error = pthread_create(&thread, NULL, pthread_nothing, NULL);
        if (error == 0)
            error = pthread_join(thread, NULL);
        if (error != 0)
            return bench_failed("pthread_create and pthread_join", error);
        if (i >= WARM_UP)
            bench_end();
    }
    return error;
}

/* Goes to every place from 1 to thread->index, or to the one place -thread->index, comes home, and ends. What is
 * measured is begun here and ended by who joins. */
static void thread_travel(struct thread *thread)
{
    int first = thread->index < 0 ? -thread->index : 1;
    int last = thread->index < 0 ? -thread->index : thread->index;
    long error = 0;

    for (int i = first; i <= last && error == 0; i++)
        error = bench_move(HOW_USUAL, i);
    if (error == 0)
        error = bench_move(HOW_USUAL, 0);
    atomic_store(&thread->result, error);
    bench_rest(ASLEEP_NS); /* for the joining thread to fall asleep */
    bench_begin();
}

int taskbench_run_thread_exit(const struct taskbench_case *bench, uint32_t count)
{
    struct thread thread = {.index = bench->where == WHERE_ALL ? bench_machine.count - 1
                                                               : -bench_place_of(bench->where)};
    int error = taskbench_need_futex();

    for (uint32_t i = 0; i < count && error == 0; i++) {
        if (!(i == 0 ? thread_start : thread_again)(&thread, thread_travel))
            return bench_failed("clone", errno);
        join(&thread);
        bench_end();
        error = (int)atomic_load(&thread.result);
        if (error != 0)
            bench_failed("a thread's move", error);
    }
    return error != 0 || thread_join(&thread) ? error : bench_failed("ending a thread", ETIMEDOUT);
}
