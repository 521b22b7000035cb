/* test-break: the program break when several kernels move it, and beside forks. Nothing here may use malloc, which
 * moves the break too. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define ROUNDS 60

static char *break_set(char *to)
{
    return (char *)x86_syscall1(SYS_brk, (long)to);
}

static void test_everywhere(void)
{
    char *start = break_set(NULL), *page = (char *)(((long)start + PAGE - 1) & -PAGE);

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(break_set(page + 12 * PAGE) == page + 12 * PAGE, "kernel %d: up", k);
        CHECK(spread_memory_holds(page, 0, 12, 0), "kernel %d: what is new is not zero", k);
        spread_memory_fill(page, 0, 12, 1);
        kernels_go(k + 1);
        CHECK(break_set(page + 5 * PAGE) == page + 5 * PAGE, "kernel %d: down", k);
        CHECK(spread_memory_holds(page, 0, 5, 1), "kernel %d: what stays has changed", k);
        CHECK(!memory_readable(page + 5 * PAGE), "kernel %d: what goes is there", k);
        kernels_go(k + 2);
        CHECK(break_set(start) == start, "kernel %d: back", k);
    }
}

static void test_obstacle(void)
{
    char *start = break_set(NULL), *page = (char *)(((long)start + PAGE - 1) & -PAGE), *wall;

    kernels_go(1);
    wall = mmap(page + 8 * PAGE, PAGE, PROT_READ, PRIVATE | MAP_FIXED_NOREPLACE, -1, 0);
    if (!CHECK(wall == page + 8 * PAGE, "%s", strerror(errno)))
        return;
    CHECK(break_set(page + 9 * PAGE) == start, "over a mapping");
    CHECK(break_set(page + 8 * PAGE) == start, "up to a mapping");
    CHECK(break_set(page + 7 * PAGE) == page + 7 * PAGE, "to a page before it");
    CHECK(break_set(page + 7 * PAGE - 1) == page + 7 * PAGE - 1, "a byte down");
    CHECK(break_set((char *)-1) == page + 7 * PAGE - 1, "nowhere");
    CHECK(break_set(start - 1) == page + 7 * PAGE - 1, "below its start");
    CHECK(break_set((char *)(1l << 46)) == page + 7 * PAGE - 1, "more than there is memory");
    CHECK(break_set(start) == start, "back");
    munmap(wall, PAGE);
    kernels_go(0);
}

static atomic_int moving; /* threads that still move the break */

static void mover(struct thread *thread)
{
    char *start = thread->argument;

    for (int round = 0; round < ROUNDS; round++) {
        char *end = start + (3 + round % 5) * PAGE;

        if (break_set(end) != end || start[PAGE] != 0)
            atomic_store(&thread->result, 1);
        start[PAGE] = 1;
        kernels_go(round);
        if (break_set(start) != start)
            atomic_store(&thread->result, 2);
    }
    atomic_store(&moving, 0);
}

static int nothing(void *context)
{
    (void)context;
    return 0;
}

static void test_forks(void)
{
    struct thread thread = {.argument = (void *)(((long)break_set(NULL) + PAGE - 1) & -PAGE)};
    int forks = 0;

    break_set(thread.argument);
    atomic_store(&moving, 1);
    if (!CHECK(thread_start(&thread, mover), "%s", strerror(errno)))
        return;
    kernels_go(1);
    for (; atomic_load(&moving) != 0; forks++)
        CHECK(tap_fork(nothing, NULL) == 0, "fork %d", forks);
    CHECK(thread_join(&thread), "the thread that moves the break does not end");
    CHECK(atomic_load(&thread.result) == 0, "the break: %ld", atomic_load(&thread.result));
    kernels_go(0);
}

#define GROWERS 4
static char *lowest;

/* Each asks for a page more than the break that it sees, and for one less: others do so too. */
static void grower(struct thread *thread)
{
    kernels_go(thread->index);
    for (int round = 0; round < ROUNDS; round++) {
        char *now = break_set(NULL);

        if (now < lowest || now > lowest + GROWERS * ROUNDS * PAGE)
            atomic_store(&thread->result, 1);
        now = break_set(now + PAGE);
        now = break_set(now - PAGE > lowest ? now - PAGE : lowest);
        if (now < lowest)
            atomic_store(&thread->result, 2);
    }
}

static void test_together(void)
{
    static struct thread threads[GROWERS];

    lowest = break_set(NULL);
    for (int i = 0; i < GROWERS; i++) {
        threads[i] = (struct thread){.index = i};
        CHECK(thread_start(&threads[i], grower), "%s", strerror(errno));
    }
    for (int i = 0; i < GROWERS; i++) {
        CHECK(thread_join(&threads[i]), "thread %d does not end", i);
        CHECK(atomic_load(&threads[i].result) == 0, "thread %d: %ld", i, atomic_load(&threads[i].result));
    }
    CHECK(break_set(lowest) == lowest, "back");
}

static const struct tap_test tests[] = {
    {"everywhere", "the break moves from every kernel, for every kernel", test_everywhere},
    {"obstacle", "the break stops a page before a mapping", test_obstacle},
    {"forks", "the break moves while another thread forks", test_forks},
    {"together", "four threads that move the break at once all end", test_together},
};

int main(int argc, char **argv)
{
    static char buffer[1 << 12];

    setvbuf(stdout, buffer, _IOLBF, sizeof(buffer)); /* stdio asks for no memory */
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
