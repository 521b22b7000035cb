/* abibench: two threads of one process that wake each other in turn: the first one at home, the other at its place. A
 * round trip is one there and one back, and both sleep in between. The other has no C library. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/bench/abi/abibench.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define WARM_UP 4
#define ASLEEP_NS 500000

struct pair {
    atomic_int words[2]; /* futex: how often each side was called */
    int pipes[2][2];     /* pipe: there, and back */
    uint32_t rounds;
    bool pipe;
};

static int futex(atomic_int *word, int operation, int value)
{
    return (int)x86_syscall(SYS_futex, (long)word, operation, value, 0, 0, 0);
}

/* Calls SIDE, for the ROUND-th time. 0 or a negative errno. */
static long call(struct pair *pair, int side, uint32_t round)
{
    char byte = 1;
    long result;

    if (!pair->pipe) {
        atomic_store(&pair->words[side], (int)round);
        result = futex(&pair->words[side], FUTEX_WAKE_PRIVATE, 1);
        return result < 0 ? result : 0;
    }
    result = x86_syscall3(SYS_write, pair->pipes[side][1], (long)&byte, 1);
    return result == 1 ? 0 : result < 0 ? result : -EPROTO;
}

/* Sleeps until SIDE has been called for the ROUND-th time. */
static long wait_called(struct pair *pair, int side, uint32_t round)
{
    char byte;
    long result = 0;

    if (pair->pipe) {
        result = x86_syscall3(SYS_read, pair->pipes[side][0], (long)&byte, 1);
        return result == 1 ? 0 : result < 0 ? result : -EPROTO;
    }
    while (atomic_load(&pair->words[side]) != (int)round) {
        result = futex(&pair->words[side], FUTEX_WAIT_PRIVATE, (int)round - 1);
        if (result < 0 && result != -EAGAIN && result != -EINTR)
            return result;
    }
    return 0;
}

/* thread->result becomes 1 when it is there, or a negative errno. */
static void answerer(struct thread *thread)
{
    struct pair *pair = thread->argument;
    long error = bench_unbind();

    if (error == 0)
        error = bench_move(HOW_USUAL, thread->index);
    atomic_store(&thread->result, error == 0 ? 1 : -error);
    for (uint32_t i = 1; i <= pair->rounds && error == 0; i++) {
        error = wait_called(pair, 0, i);
        if (error == 0)
            error = call(pair, 1, i);
    }
    if (error < 0)
        atomic_store(&thread->result, error);
}

static int rounds(struct pair *pair, const struct thread *thread)
{
    while (atomic_load(&thread->result) == 0)
        bench_rest(ASLEEP_NS);
    if (atomic_load(&thread->result) < 0)
        return bench_failed("a thread's move", (int)-atomic_load(&thread->result));
    for (uint32_t i = 1; i <= pair->rounds; i++) {
        long error;

        bench_rest(ASLEEP_NS); /* for the other thread to fall asleep */
        if (i > WARM_UP)
            bench_begin();
        error = call(pair, 0, i);
        if (error == 0)
            error = wait_called(pair, 1, i);
        if (i > WARM_UP)
            bench_end();
        if (error != 0)
            return bench_failed(pair->pipe ? "a pipe" : "futex", (int)-error);
    }
    return 0;
}

static int run(const struct abibench_case *bench, struct pair *pair)
{
    struct thread thread = {.index = bench_place_of(bench->where), .argument = pair};
    int error = bench_bind_here();

    if (error == 0 && !thread_start(&thread, answerer))
        error = bench_failed("clone", errno);
    if (error != 0)
        return error;
    error = rounds(pair, &thread);
    return error != 0 || thread_join(&thread) ? error : bench_failed("ending a thread", ETIMEDOUT);
}

int abibench_run_futex_pair(const struct abibench_case *bench, uint32_t count)
{
    static struct pair pair;

    pair = (struct pair){.rounds = count + WARM_UP};
    return run(bench, &pair);
}

int abibench_run_pipe_pair(const struct abibench_case *bench, uint32_t count)
{
    static struct pair pair;
    int error;

    pair = (struct pair){.rounds = count + WARM_UP, .pipe = true};
    if (pipe(pair.pipes[0]) != 0 || pipe(pair.pipes[1]) != 0)
        return bench_failed("pipe", errno);
    error = run(bench, &pair);
    for (int i = 0; i < 4; i++)
        close(pair.pipes[i / 2][i % 2]);
    return error;
}
