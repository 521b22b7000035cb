/* taskbench: threads that move: to where they have not been, back, to and fro; and the first of a process to come.
 *
 * A thread that moves for the first time has to be new, so each such operation is made by a thread of its own. All use
 * one stack, whose pages are therefore known at both places: what is measured is the move, not the fetching of pages.
 * The first thread sleeps meanwhile. */
#include <errno.h>
#include <string.h>

#include "userland/bench/tasks/taskbench.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define ASLEEP_NS 500000 /* for the first thread to fall asleep */
#define BATCH 16
#define WARM_UP 8

#define CPUID_OSXSAVE (1u << 27)
#define CPUID_AVX (1u << 28)
#define XCR0_AVX 6u /* SSE and AVX state */

#define VECTORS 16
#define VECTOR_BYTES 32

struct mover {
    struct thread thread;
    enum bench_how how;
    int target;
    bool back; /* measure the way back, not the way there */
    bool measure;
    bool vectors;
    int error;
};

static bool avx; /* this machine has vector registers */
static uint8_t pattern[VECTOR_BYTES];

static bool avx_there(void)
{
    uint32_t registers[4];

    x86_cpuid(1, 0, registers);
    return (registers[2] & CPUID_OSXSAVE) != 0 && (registers[2] & CPUID_AVX) != 0 &&
           (x86_xcr0() & XCR0_AVX) == XCR0_AVX;
}

static const char *how_name(enum bench_how how)
{
    return how == HOW_AFFINITY ? "sched_setaffinity" : "kettle_migrate";
}

/* Puts values into the vector registers, or takes them out of use. */
static void vectors_set(bool used)
{
    if (used)
        x86_vectors_load(pattern);
    else if (avx)
        x86_vectors_clear();
}

/* What there is to check after a move that said ERROR; FOUND are the registers, NULL when they are not in use. */
static int move_check(enum bench_how how, int place, int error, uint8_t (*found)[VECTOR_BYTES])
{
    if (error != 0)
        return bench_failed(how_name(how), error);
    if (!bench_is_at(how, place))
        return bench_failed("the thread is not where it moved to", EPROTO);
    for (int i = 0; found != NULL && i < VECTORS; i++) {
        if (memcmp(found[i], pattern, sizeof(pattern)) != 0)
            return bench_failed("a vector register was lost in a move", EPROTO);
    }
    return 0;
}

/* The registers are loaded and looked at outside of the markers. */
static int mover_move(struct mover *mover, int place, bool measure)
{
    uint8_t found[VECTORS][VECTOR_BYTES];
    int error;

    if (measure)
        bench_clock_begin();
    vectors_set(mover->vectors);
    if (measure)
        bench_mark();
    error = bench_move(mover->how, place);
    if (measure)
        bench_unmark();
    if (mover->vectors)
        x86_vectors_store(found);
    if (measure)
        bench_clock_end(1);
    return move_check(mover->how, place, error, mover->vectors ? found : NULL);
}

static void mover_main(struct thread *thread)
{
    struct mover *mover = thread->argument;

    bench_rest(ASLEEP_NS);
    mover->error = bench_unbind();
    if (mover->error == 0)
        mover->error = mover_move(mover, mover->target, mover->measure && !mover->back);
    if (mover->error == 0 && mover->back)
        mover->error = mover_move(mover, 0, mover->measure);
}

static int moves_prepare(const struct taskbench_case *bench)
{
    int error = bench->how == HOW_AFFINITY ? bench_cpus_find(bench_place_of(bench->where)) : 0;

    avx = avx_there();
    for (size_t i = 0; i < sizeof(pattern); i++)
        pattern[i] = (uint8_t)(0x5a + 7 * i);
    if (error == 0 && bench->vectors && !avx)
        return bench_failed("vector registers", ENOSYS);
    if (error == 0 && bench->spanning)
        error = bench_visit_all();
    return error;
}

static int moves_by_threads(const struct taskbench_case *bench, uint32_t count, bool back)
{
    struct mover mover = {
        .how = bench->how, .target = bench_place_of(bench->where), .back = back, .vectors = bench->vectors};
    int error = moves_prepare(bench);

    if (error == 0)
        error = bench_bind_here();
    if (error != 0)
        return error;
    mover.thread.argument = &mover;
    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        mover.measure = i >= WARM_UP;
        if (!(i == 0 ? thread_start : thread_again)(&mover.thread, mover_main))
            return bench_failed("starting a thread", errno);
        bench_rest_until_zero(&mover.thread.tid);
        error = mover.error;
    }
    return thread_join(&mover.thread) || error != 0 ? error : bench_failed("ending a thread", ETIMEDOUT);
}

int taskbench_run_move_first(const struct taskbench_case *bench, uint32_t count)
{
    return moves_by_threads(bench, count, false);
}

int taskbench_run_move_back(const struct taskbench_case *bench, uint32_t count)
{
    return moves_by_threads(bench, count, true);
}

/* An operation is one move; BATCH of them are a sample. The registers are looked at after each batch. */
int taskbench_run_ping_pong(const struct taskbench_case *bench, uint32_t count)
{
    int target = bench_place_of(bench->where);
    int error = moves_prepare(bench);
    uint8_t found[VECTORS][VECTOR_BYTES];

    for (uint32_t i = 0; i < count + BATCH && error == 0; i += BATCH) {
        bool measure = i >= BATCH;

        bench_clock_begin();
        vectors_set(bench->vectors);
        if (measure)
            bench_mark();
        for (int j = 0; j < BATCH && error == 0; j++)
            error = bench_move(bench->how, j % 2 == 0 ? target : 0);
        if (measure)
            bench_unmark();
        if (bench->vectors)
            x86_vectors_store(found);
        if (measure)
            bench_clock_end(BATCH);
        error = move_check(bench->how, 0, error, bench->vectors ? found : NULL);
    }
    return error;
}

/* The first thread goes on to each place where the process has not been yet, and touches a page of its own there. */
int taskbench_run_import(const struct taskbench_case *bench, uint32_t count)
{
    static _Alignas(BENCH_PAGE) volatile char page[BENCH_PAGE];
    uint32_t done = 0;

    (void)count;
    if (bench->how == HOW_MIGRATE && !bench_machine.kettle)
        return bench_failed("kettle_migrate", ENOSYS);
    for (int i = 1; i < bench_machine.count; i++) {
        int error;

        if (bench_machine.places[i].visited)
            continue;
        bench_begin();
        error = bench_move(bench->how, i);
        page[0]++;
        bench_end();
        if (error != 0)
            return bench_failed(how_name(bench->how), error);
        done++;
    }
    return done > 0 ? 0 : bench_failed("a kernel that the process has not been on", ENOSYS);
}
