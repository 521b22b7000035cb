/* test-newcomer: a kernel that joins a process while the process forks. The fork is one moment for its threads too:
 * what they write is in the child or it is not, and nothing of it comes later. Messages held back
 * (SPACE_WRITE_PROTECT) make a fork long enough.
 *
 * Each round is a process of its own, for a kernel that has joined stays. It uses only x86.h's calls and thread.h.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGE 4096l
#define PAGES 16l
#define ROUNDS 12
#define WRITES 100

/* In memory that all processes share. */
struct round {
    atomic_int member;   /* the thread on the kernel that has joined before is there */
    atomic_int go;       /* the fork is about to begin */
    atomic_int writes;   /* how often the newcomer has written all pages */
    atomic_int finished; /* it has written for the last time */
};

struct crew {
    struct round *round;
    volatile int *pages; /* private */
    int kernels[64];
    int count;
};

static volatile int *page(const struct crew *crew, long i)
{
    return crew->pages + i * PAGE / (long)sizeof(int);
}

static _Noreturn void leave(int status)
{
    for (;;)
        x86_syscall1(SYS_exit_group, status);
}

static int end_of(long child)
{
    int status = 0;

    if (child <= 0 || x86_syscall(SYS_wait4, child, (long)&status, 0, 0, 0, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void be_member(struct thread *thread)
{
    const struct crew *crew = thread->argument;

    thread_move(crew->kernels[1]);
    *page(crew, 0) = 0;
    atomic_store(&crew->round->member, 1);
}

static void be_newcomer(struct thread *thread)
{
    const struct crew *crew = thread->argument;

    thread_wait(&crew->round->go, 1);
    thread_move(crew->kernels[2]);
    for (int value = 1; value <= WRITES; value++) {
        for (long i = 0; i < PAGES; i++)
            *page(crew, i) = value;
        atomic_store(&crew->round->writes, value);
    }
    atomic_store(&crew->round->finished, 1);
}

/* The child: nothing changes any more. */
static int look(const struct crew *crew)
{
    int seen[PAGES];

    for (long i = 0; i < PAGES; i++)
        seen[i] = *page(crew, i);
    if (!thread_wait(&crew->round->finished, 1))
        return 2;
    for (long i = 0; i < PAGES; i++) {
        if (*page(crew, i) != seen[i])
            return 3;
        if (i > 0 && seen[i] > seen[i - 1])
            return 4; /* a later page was written before an earlier one */
    }
    return 0;
}

static int run_round(struct crew *crew)
{
    struct thread member = {.run = be_member, .argument = crew}, newcomer = {.run = be_newcomer, .argument = crew};
    long child;

    for (long i = 0; i < PAGES; i++)
        *page(crew, i) = 0;
    if (!thread_start(&member, be_member) || !thread_start(&newcomer, be_newcomer) ||
        !thread_wait(&crew->round->member, 1))
        return 10;
    atomic_store(&crew->round->go, 1);
    child = x86_syscall0(SYS_fork);
    if (child == 0)
        leave(look(crew));
    if (!thread_wait(&crew->round->finished, 1))
        return 11;
    for (long i = 0; i < PAGES; i++) {
        if (*page(crew, i) != WRITES)
            return 12; /* this kernel has another frame than the newcomer's */
    }
    return thread_join(&member) && thread_join(&newcomer) ? end_of(child) : 13;
}

static void test_fork(void)
{
    struct crew crew;
    void *pages = mmap(NULL, (size_t)(PAGES * PAGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *shared = mmap(NULL, (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int during = 0;

    if (!CHECK(pages != MAP_FAILED && shared != MAP_FAILED, "%s", strerror(errno)))
        return;
    crew = (struct crew){.round = shared, .pages = pages};
    crew.count = tap_kernels(crew.kernels);
    if (crew.count < 3) {
        tap_skip("fewer than three kernels");
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        int end;
        long child;

        thread_move(crew.kernels[0]);
        memset(shared, 0, sizeof(struct round));
        child = x86_syscall0(SYS_fork);
        if (child == 0) {
            int kernel = crew.kernels[2];

            crew.kernels[2] = crew.kernels[2 + i % (crew.count - 2)];
            crew.kernels[2 + i % (crew.count - 2)] = kernel;
            leave(run_round(&crew));
        }
        end = end_of(child);
        CHECK(end == 0, "round %d: the process left with %d", i, end);
        during += atomic_load(&crew.round->writes) > 0;
    }
    CHECK(during == ROUNDS, "the newcomer wrote in %d of %d rounds", during, ROUNDS);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"fork", "what threads on a kernel that joins during a fork write is not seen by the child", test_fork},
    };

    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
