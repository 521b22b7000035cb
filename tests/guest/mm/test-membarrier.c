/* test-membarrier: one side of two that watch each other has no fence, the other one has the kernel make all fence. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "userland/bench/message_counts.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define QUERY 0
#define GLOBAL 1
#define PRIVATE_EXPEDITED 8
#define REGISTER 16
#define ROUNDS 200
#define CALLS 50
#define WATCHERS 3

static long membarrier(long command, long flags)
{
    return x86_syscall3(SYS_membarrier, command, flags, 0);
}

static int unregistered(void *context)
{
    (void)context;
    for (int k = kernels_count(); k > 0; k--) {
        kernels_go(k);
        if (membarrier(PRIVATE_EXPEDITED, 0) != -EPERM)
            return k;
        if (membarrier(GLOBAL, 0) != 0)
            return 100 + k;
    }
    return membarrier(REGISTER, 0) == 0 && membarrier(PRIVATE_EXPEDITED, 0) == 0 ? 0 : 99;
}

static void test_unregistered(void)
{
    int status = tap_fork(unregistered, NULL);

    CHECK(status == 0, "it is %d", status);
}

static void test_query(void)
{
    long all = membarrier(QUERY, 0);

    CHECK(all > 0 && (all & (PRIVATE_EXPEDITED | REGISTER)) == (PRIVATE_EXPEDITED | REGISTER), "it has %lx", all);
    CHECK(membarrier(REGISTER, 0) == 0, "registering");
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(membarrier(PRIVATE_EXPEDITED, 0) == 0, "kernel %d", k);
    }
    CHECK(membarrier(QUERY, 1) == -EINVAL && membarrier(PRIVATE_EXPEDITED, 16) == -EINVAL, "flags");
    CHECK(membarrier(1 << 20, 0) == -EINVAL, "an unknown command");
    kernels_go(0);
}

/* Words of different lines, that each side writes. */
static struct watch {
    _Alignas(128) atomic_int round; /* the asker's: begins a round */
    _Alignas(128) atomic_int mine;
    _Alignas(128) atomic_int theirs[WATCHERS][32];
    _Alignas(128) atomic_int saw[WATCHERS][32];
    _Alignas(128) atomic_int done;
} watch;

static void watcher(struct thread *thread)
{
    int index = thread->index;

    kernels_go(index + 1);
    for (int round = 1; round <= ROUNDS; round++) {
        int saw;

        while (atomic_load_explicit(&watch.round, memory_order_relaxed) < round)
            x86_syscall0(SYS_sched_yield);
        atomic_store_explicit(&watch.theirs[index][0], round, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* for the compiler alone */
        saw = atomic_load_explicit(&watch.mine, memory_order_relaxed);
        atomic_store_explicit(&watch.saw[index][0], saw, memory_order_relaxed);
        atomic_fetch_add(&watch.done, 1);
    }
}

static void test_fences(void)
{
    static struct thread threads[WATCHERS];
    int neither = 0, refused = 0;

    for (int i = 0; i < WATCHERS; i++) {
        threads[i].index = i;
        CHECK(thread_start(&threads[i], watcher), "%s", strerror(errno));
    }
    for (int round = 1; round <= ROUNDS; round++) {
        int seen[WATCHERS];

        if (round % 20 == 0)
            kernels_go(round / 20);
        atomic_store_explicit(&watch.round, round, memory_order_relaxed);
        atomic_store_explicit(&watch.mine, round, memory_order_relaxed);
        refused += membarrier(PRIVATE_EXPEDITED, 0) != 0;
        for (int i = 0; i < WATCHERS; i++)
            seen[i] = atomic_load_explicit(&watch.theirs[i][0], memory_order_relaxed);
        CHECK(thread_wait(&watch.done, round * WATCHERS), "round %d does not end", round);
        for (int i = 0; i < WATCHERS; i++)
            neither += seen[i] < round && atomic_load(&watch.saw[i][0]) < round;
    }
    for (int i = 0; i < WATCHERS; i++)
        CHECK(thread_join(&threads[i]), "thread %d does not end", i);
    CHECK(refused == 0 && neither == 0, "%d calls refused; in %d of %d cases neither saw the other", refused, neither,
          ROUNDS * WATCHERS);
    kernels_go(0);
}

/* How many messages have asked a kernel for a fence, or -1 where there are none. */
static long messages_sent(void)
{
    static struct message_counts counts;

    if (!message_counts_read(&counts))
        return -1;
    for (size_t i = 0; i < counts.count; i++) {
        if (strcmp(counts.rows[i].name, "SPACE_FENCE") == 0)
            return (long)counts.rows[i].sent;
    }
    return 0;
}

static void test_reaches(void)
{
    long others = kernels_count() - 1, before;

    for (int k = 0; k <= others; k++)
        kernels_go(k); /* all are hosts from now on */
    kernels_go(0);
    before = messages_sent();
    for (int i = 0; i < CALLS; i++)
        membarrier(PRIVATE_EXPEDITED, 0);
    if (before >= 0)
        CHECK(messages_sent() - before >= CALLS * others, "%d calls sent %ld messages to %ld other kernels", CALLS,
              messages_sent() - before, others);
}

static const struct tap_test tests[] = {
    {"unregistered", "expedited barriers need a registration on every kernel, and global ones do not",
     test_unregistered},
    {"query", "MEMBARRIER_CMD_QUERY names the commands, and each works on every kernel", test_query},
    {"reaches", "each call reaches every other kernel", test_reaches},
    {"fences", "of a thread that calls membarrier and one without fences at least one sees the other's write",
     test_fences},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
