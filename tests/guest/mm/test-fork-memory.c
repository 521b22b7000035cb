/* test-fork-memory: what fork does with memory. Both sides keep what they had, whatever the other writes; shared areas
 * are shared; and all of it holds when the pages were touched, and the writers run, on different kernels.
 *
 * A child is made by the system call itself and uses only its memory, x86.h's calls and thread.h, so that any
 * thread may make one. It leaves with 0, or with the number of the check that failed. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/events.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGE 4096l
#define PAGES 48l     /* of the areas most tests use */
#define KEPT_KIB 4096 /* tables of pages, kept with the space, and stacks of workers, kept for reuse */
#define READ_WRITE (PROT_READ | PROT_WRITE)

static int kernels[64];
static int kernel_count;

static char *map_area(long pages, int type)
{
    char *area = mmap(NULL, (size_t)(pages * PAGE), READ_WRITE, type | MAP_ANONYMOUS, -1, 0);

    CHECK(area != MAP_FAILED, "%ld pages: %s", pages, strerror(errno));
    return area == MAP_FAILED ? NULL : area;
}

static void unmap_area(char *area, long pages)
{
    CHECK(munmap(area, (size_t)(pages * PAGE)) == 0, "%s", strerror(errno));
}

static int kernel_of(long number)
{
    return kernels[(unsigned long)number % (unsigned long)kernel_count];
}

/* What WHO writes at page I. */
static uint64_t word(uint64_t who, long i)
{
    return who * 1000003 + (uint64_t)i;
}

static volatile uint64_t *at(char *area, long i, long offset)
{
    return (volatile uint64_t *)(void *)(area + i * PAGE + offset);
}

/* Writes both ends of pages FIRST, FIRST + STEP, ... */
static void fill(char *area, long first, long step, long pages, uint64_t who)
{
    for (long i = first; i < pages; i += step) {
        *at(area, i, 0) = word(who, i);
        *at(area, i, PAGE - 8) = ~word(who, i);
    }
}

static bool holds(char *area, long first, long step, long pages, uint64_t who)
{
    for (long i = first; i < pages; i += step) {
        if (*at(area, i, 0) != word(who, i) || *at(area, i, PAGE - 8) != ~word(who, i))
            return false;
    }
    return true;
}

/* Fills AREA, page I by kernel I % kernel_count. */
static void fill_everywhere(char *area, long pages, uint64_t who)
{
    for (int k = 0; k < kernel_count; k++) {
        thread_move(kernels[k]);
        fill(area, k, kernel_count, pages, who);
    }
}

static _Noreturn void leave(int status)
{
    for (;;)
        x86_syscall1(SYS_exit_group, status);
}

static long fork_here(void)
{
    return x86_syscall0(SYS_fork);
}

/* The status a child left with, or -1. */
static int child_end(long child)
{
    int status = 0;

    if (child <= 0 || x86_syscall(SYS_wait4, child, (long)&status, 0, 0, 0, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* --- */

static void test_both_sides(void)
{
    for (int k = 0; k < kernel_count; k++) {
        char *area = map_area(PAGES, MAP_PRIVATE);
        long child;
        int end;

        if (area == NULL)
            return;
        fill_everywhere(area, PAGES, 1);
        thread_move(kernels[k]);
        child = fork_here();
        if (child == 0) {
            if (!holds(area, 0, 1, PAGES, 1))
                leave(1);
            fill(area, 0, 2, PAGES, 2);
            if (!holds(area, 0, 2, PAGES, 2) || !holds(area, 1, 2, PAGES, 1))
                leave(2);
            thread_move(kernel_of(k + 1));
            if (!holds(area, 0, 2, PAGES, 2) || !holds(area, 1, 2, PAGES, 1))
                leave(3);
            fill(area, 1, 2, PAGES, 2);
            thread_move(kernel_of(k + 2));
            leave(holds(area, 0, 1, PAGES, 2) ? 0 : 4);
        }
        fill(area, 1, 3, PAGES, 3);
        end = child_end(child);
        CHECK(end == 0, "kernel %d: fork gave %ld, the child's end %d", kernels[k], child, end);
        CHECK(holds(area, 0, 3, PAGES, 1) && holds(area, 1, 3, PAGES, 3) && holds(area, 2, 3, PAGES, 1),
              "kernel %d: the parent sees something else", kernels[k]);
        thread_move(kernel_of(k + 1));
        CHECK(holds(area, 0, 3, PAGES, 1) && holds(area, 1, 3, PAGES, 3) && holds(area, 2, 3, PAGES, 1),
              "kernel %d: the parent sees something else from kernel %d", kernels[k], kernel_of(k + 1));
        unmap_area(area, PAGES);
    }
    thread_move(kernels[0]);
}

static void test_shared(void)
{
    char *area = map_area(PAGES, MAP_SHARED);
    long child;
    int end;

    if (area == NULL)
        return;
    for (int k = 0; k < kernel_count; k++) {
        thread_move(kernels[k]);
        fill(area, 2 * k, 2 * kernel_count, PAGES, 1); /* the other pages have never been touched */
    }
    for (int k = 0; k < kernel_count; k++) {
        thread_move(kernels[k]);
        child = fork_here();
        if (child == 0) {
            thread_move(kernel_of(k + 1));
            if (k == 0 && *at(area, 1, 0) != 0)
                leave(1);
            fill(area, 0, 1, PAGES, (uint64_t)k + 5);
            leave(0);
        }
        end = child_end(child);
        CHECK(end == 0, "fork gave %ld, the child's end %d", child, end);
        CHECK(holds(area, 0, 1, PAGES, (uint64_t)k + 5), "the child's writes are not seen on kernel %d", kernels[k]);
        thread_move(kernel_of(k + 2));
        CHECK(holds(area, 0, 1, PAGES, (uint64_t)k + 5), "the child's writes are not seen elsewhere");
    }
    thread_move(kernels[0]);
    unmap_area(area, PAGES);
}

/* Mappings that one side changes stay as they were on the other. */
static void test_changes_apart(void)
{
    char *private = map_area(PAGES, MAP_PRIVATE), *shared = map_area(PAGES, MAP_SHARED);
    long child;
    int end;

    if (private == NULL || shared == NULL)
        return;
    fill_everywhere(private, PAGES, 1);
    fill_everywhere(shared, PAGES, 1);
    for (int k = 0; k < kernel_count; k++) {
        thread_move(kernels[k]);
        child = fork_here();
        if (child == 0) {
            if (x86_syscall3(SYS_munmap, (long)private, PAGES / 2 * PAGE, 0) != 0 ||
                x86_syscall3(SYS_mprotect, (long)shared, PAGES / 2 * PAGE, PROT_NONE) != 0)
                leave(1);
            if (x86_syscall3(SYS_mprotect, (long)(private + PAGES / 2 * PAGE), PAGES / 2 * PAGE, PROT_READ) != 0 ||
                x86_syscall3(SYS_mprotect, (long)(private + PAGES / 2 * PAGE), PAGES / 2 * PAGE, READ_WRITE) != 0)
                leave(2);
            if (!holds(private, PAGES / 2, 1, PAGES, 1) || !holds(shared, PAGES / 2, 1, PAGES, 1))
                leave(3);
            fill(private, PAGES / 2, 1, PAGES, 2);
            leave(holds(private, PAGES / 2, 1, PAGES, 2) ? 0 : 4);
        }
        end = child_end(child);
        CHECK(end == 0, "kernel %d: fork gave %ld, the child's end %d", kernels[k], child, end);
        CHECK(holds(private, 0, 1, PAGES, 1) && holds(shared, 0, 1, PAGES, 1), "kernel %d: the parent's changed",
              kernels[k]);
    }
    thread_move(kernels[0]);
    unmap_area(private, PAGES);
    CHECK(holds(shared, 0, 1, PAGES, 1), "unmapping the neighbour changed it");
    unmap_area(shared, PAGES);
}

static void test_discard(void)
{
    char *area = map_area(PAGES, MAP_PRIVATE);
    long child;
    int end;

    if (area == NULL)
        return;
    fill_everywhere(area, PAGES, 1);
    child = fork_here();
    if (child == 0) {
        thread_move(kernel_of(1));
        if (x86_syscall3(SYS_madvise, (long)area, PAGES / 2 * PAGE, MADV_DONTNEED) != 0)
            leave(1);
        for (long i = 0; i < PAGES / 2; i++) {
            if (*at(area, i, 0) != 0 || *at(area, i, PAGE - 8) != 0)
                leave(2);
        }
        thread_move(kernel_of(2));
        fill(area, 0, 1, PAGES / 2, 2);
        leave(holds(area, 0, 1, PAGES / 2, 2) && holds(area, PAGES / 2, 1, PAGES, 1) ? 0 : 3);
    }
    end = child_end(child);
    CHECK(end == 0, "fork gave %ld, the child's end %d", child, end);
    CHECK(holds(area, 0, 1, PAGES, 1), "the parent's pages are gone");
    CHECK(madvise(area, PAGES * PAGE, MADV_DONTNEED) == 0, "%s", strerror(errno));
    CHECK(*at(area, 3, 0) == 0, "still there");
    unmap_area(area, PAGES);
    CHECK_ERROR(madvise(area, PAGES * PAGE, MADV_DONTNEED), ENOMEM);
}

#define CHAIN 6

struct chain {
    atomic_int ended, failed;
};

/* Generation G writes page G, checks what its ancestors wrote, forks the next on another kernel; ends before or after
 * its child, as ORDER says. */
static _Noreturn void generation(struct chain *chain, char *area, int order)
{
    long child = 0;
    int g = -1;

    while (child == 0) {
        g++;
        thread_move(kernel_of(g));
        fill(area, g, CHAIN, CHAIN * 4, (uint64_t)g + 10);
        for (int ancestor = 0; ancestor <= g; ancestor++) {
            if (!holds(area, ancestor, CHAIN, CHAIN * 4, (uint64_t)ancestor + 10))
                atomic_fetch_or(&chain->failed, 1 << g);
        }
        child = g + 1 < CHAIN ? fork_here() : 1;
    }
    if (child < 0 || (g + 1 < CHAIN && (order >> g & 1) != 0 && child_end(child) != 0))
        atomic_fetch_or(&chain->failed, 256 << g);
    fill(area, g, CHAIN, CHAIN * 4, (uint64_t)g + 20); /* no descendant sees that */
    for (int later = g + 1; later < CHAIN; later++) {
        if (!holds(area, later, CHAIN, CHAIN * 4, 1))
            atomic_fetch_or(&chain->failed, 65536 << g);
    }
    atomic_fetch_add(&chain->ended, 1);
    leave(0);
}

static void test_chain(void)
{
    for (int order = 0; order < 1 << (CHAIN - 1); order += 5) {
        struct chain *chain = (struct chain *)(void *)map_area(1, MAP_SHARED);
        char *area = map_area(CHAIN * 4, MAP_PRIVATE);
        long child;

        if (chain == NULL || area == NULL)
            return;
        fill_everywhere(area, CHAIN * 4, 1);
        thread_move(kernels[0]);
        child = fork_here();
        if (child == 0)
            generation(chain, area, order);
        CHECK(child_end(child) == 0, "order %d", order);
        CHECK(thread_wait(&chain->ended, CHAIN), "order %d: %d generations ended", order, chain->ended);
        CHECK(chain->failed == 0, "order %d: failed %x", order, (unsigned int)chain->failed);
        CHECK(holds(area, 0, 1, CHAIN * 4, 1), "order %d: the first one's pages changed", order);
        unmap_area(area, CHAIN * 4);
        unmap_area((char *)chain, 1);
    }
}

#define THREADS 8
#define ROUNDS 3

struct team {
    char *area;
    atomic_int turn; /* rounds that all have begun */
    atomic_int failed;
};

/* On its kernel: writes its pages, forks, writes again while the child checks. */
static void forking_thread(struct thread *thread)
{
    struct team *team = thread->argument;
    int step = THREADS;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t mine = (uint64_t)(100 * thread->index + round);
        long child;

        thread_move(kernel_of(thread->index + round));
        fill(team->area, thread->index, step, PAGES, mine);
        child = fork_here();
        if (child == 0) {
            if (!holds(team->area, thread->index, step, PAGES, mine))
                leave(1);
            fill(team->area, 0, 1, PAGES, 7);
            thread_move(kernel_of(round));
            leave(holds(team->area, 0, 1, PAGES, 7) ? 0 : 2);
        }
        fill(team->area, thread->index, step, PAGES, mine + 50);
        if (child_end(child) != 0)
            atomic_fetch_or(&team->failed, 1 << thread->index);
        if (!holds(team->area, thread->index, step, PAGES, mine + 50))
            atomic_fetch_or(&team->failed, 256 << thread->index);
    }
}

static void test_threads_fork(void)
{
    struct team team = {.area = map_area(PAGES, MAP_PRIVATE)};
    struct thread threads[THREADS];

    if (team.area == NULL)
        return;
    memset(threads, 0, sizeof(threads));
    for (int i = 0; i < THREADS; i++) {
        threads[i].index = i;
        threads[i].argument = &team;
        if (!CHECK(thread_start(&threads[i], forking_thread), "%s", strerror(errno)))
            return;
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(thread_join(&threads[i]), "thread %d", i);
    CHECK(team.failed == 0, "failed %x", (unsigned int)team.failed);
    unmap_area(team.area, PAGES);
}

/* Two threads of the parent pass a number through pages that are COW after each fork: each has to see the other's
 * latest, never a page of before the copy. */
struct relay {
    char *area;
    atomic_int *go; /* in a page of its own */
    atomic_int failed;
};

static void relay_thread(struct thread *thread)
{
    struct relay *relay = thread->argument;

    thread_move(kernel_of(thread->index));
    for (int i = 0; i < 40; i++) {
        volatile uint64_t *number = at(relay->area, i % 4, 16);

        while (atomic_load(relay->go) % 2 != thread->index)
            x86_syscall0(SYS_sched_yield);
        if (*number != (uint64_t)(i / 4 * 2 + thread->index))
            atomic_store(&relay->failed, i + 1);
        *number += 1;
        atomic_fetch_add(relay->go, 1);
    }
}

static void test_relay(void)
{
    struct relay relay = {.area = map_area(4, MAP_PRIVATE)};
    struct thread threads[2];
    int end;

    relay.go = (atomic_int *)(void *)map_area(1, MAP_PRIVATE);
    if (relay.area == NULL || relay.go == NULL)
        return;
    memset(threads, 0, sizeof(threads));
    memset(relay.area, 0, 4 * PAGE);
    atomic_store(relay.go, 0);
    for (int i = 0; i < 2; i++) {
        threads[i].index = i;
        threads[i].argument = &relay;
        if (!CHECK(thread_start(&threads[i], relay_thread), "%s", strerror(errno)))
            return;
    }
    for (int i = 0; i < 30; i++) {
        long child;

        thread_move(kernel_of(i));
        child = fork_here();
        if (child == 0)
            leave(0);
        end = child_end(child);
        CHECK(end == 0, "fork %d gave %ld, the end %d", i, child, end);
    }
    thread_move(kernels[0]);
    for (int i = 0; i < 2; i++)
        CHECK(thread_join(&threads[i]), "thread %d", i);
    CHECK(relay.failed == 0, "turn %d saw an old page", relay.failed);
    unmap_area(relay.area, 4);
    unmap_area((char *)relay.go, 1);
}

/* In KiB. */
static long free_memory(void)
{
    return events_reported("/proc/kettle/kernels", " free ");
}

/* What is not free, in KiB, without what kernels keep for the next time. */
static long used_memory(void)
{
    return 4 * events_reported("/proc/kettle/objects", " used ");
}

static void use_memory(void)
{
    test_shared();
    test_discard();
    test_threads_fork();
}

static void test_all_comes_back(void)
{
    const long slack = 64 * 4; /* KiB: a table of pages here and there */
    long before, after, limit;

    use_memory();
    before = used_memory();
    for (int i = 0; i < 3; i++)
        use_memory();
    limit = thread_time() + TAP_PATIENCE;
    do { /* the last end may not have reached every kernel */
        after = used_memory();
        x86_syscall0(SYS_sched_yield);
    } while (after > before + slack && thread_time() < limit);
    tap_note("used before %ld KiB, after %ld KiB", before, after);
    CHECK(after <= before + slack, "%ld KiB are gone", after - before);
}

/* The forking kernel has no memory for all pages of a shared area. */
static void test_no_memory(void)
{
    const long pages = free_memory() / 4;
    long before, after, limit;
    char *area;

    if (!tap_on_kettle()) {
        tap_skip("memory does not run out here");
        return;
    }
    area = map_area(pages, MAP_SHARED);
    if (area == NULL)
        return;
    fill(area, 0, 1, 8, 1);
    before = free_memory();
    for (int k = 0; k < kernel_count && k < 2; k++) {
        long child;

        thread_move(kernels[k]);
        child = fork_here();
        if (child == 0)
            leave(0);
        CHECK(child == -ENOMEM, "kernel %d: fork gave %ld", kernels[k], child);
        CHECK(holds(area, 0, 1, 8, 1) && *at(area, 9, 0) == 0, "the area changed");
    }
    thread_move(kernels[0]);
    limit = thread_time() + TAP_PATIENCE;
    do /* what came from other kernels, and what an audit of the machine has taken, comes back later */
        after = free_memory();
    while (after < before - KEPT_KIB && thread_time() < limit);
    CHECK(after >= before - KEPT_KIB, "%ld KiB are gone", before - after);
    unmap_area(area, pages);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"both-sides", "parent and child keep what they had, whatever the other writes", test_both_sides},
        {"shared", "a shared area is shared, also its pages that nobody had touched", test_shared},
        {"changes-apart", "unmapping and protecting stay on one side", test_changes_apart},
        {"discard", "discarded pages are zero again, on one side", test_discard},
        {"chain", "six generations end in any order", test_chain},
        {"threads-fork", "threads on all kernels fork and write at once", test_threads_fork},
        {"relay", "threads see each other's writes through pages that are copied", test_relay},
        {"all-comes-back", "all memory comes back", test_all_comes_back},
        {"no-memory", "a fork that finds no memory changes nothing", test_no_memory},
    };

    kernel_count = tap_kernels(kernels);
    thread_move(kernels[0]);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
