/* test-lazy: pages that mbind has marked (MPOL_MF_LAZY) move when they are touched, once, to where the policy wants
 * them, or to who touches them; by the target alone if that is asked for. What has become of marks after a fork and
 * other changes, and that nothing else tells marked pages from others.
 *
 * Where pages are is asked by move_pages, which touches nothing. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "libc/numa.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/events.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"

#define PAGES 64l
#define BYTES (PAGES * PAGE)
#define HUGE (2l << 20)
#define CPUS 64
#define ROUNDS 12
#define FEW 16l /* pages that all touch at once */

enum { DEFAULT, PREFERRED, BIND };
enum { STRICT = 1, MOVE = 2, MOVE_ALL = 4, LAZY = 8, LAZY_TARGET = 0x10000 };

static struct cpu {
    int number, node, kernel;
} cpus[CPUS];
static int cpu_count;
static struct cpu near_cpu, far_cpu; /* on different nodes, if there are two; on different kernels if possible */
static char *area;

static volatile long *word_of(const char *memory, long page)
{
    return (volatile long *)(uintptr_t)(memory + page * PAGE);
}

/* Each page's word is what has been added to it. */
static void touch(char *memory, long first, long last)
{
    for (long i = first; i < last; i++)
        *word_of(memory, i) += 1;
}

static bool holds(const char *memory, long first, long last, long value)
{
    for (long i = first; i < last; i++) {
        if (*word_of(memory, i) != value)
            return CHECK(false, "page %ld has %ld, not %ld", i, *word_of(memory, i), value);
    }
    return true;
}

static bool go(const struct cpu *cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu->number, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static void find_cpus(void)
{
    for (int i = 0; i < CPUS; i++) {
        struct cpu *cpu = &cpus[cpu_count];

        cpu->number = i;
        if (!go(cpu))
            continue;
        cpu->node = node_here();
        cpu->kernel = kettle_kernel();
        cpu_count++;
    }
    near_cpu = far_cpu = cpus[0];
    for (int i = 1; i < cpu_count && far_cpu.node == near_cpu.node; i++)
        far_cpu = cpus[i];
    go(&near_cpu);
}

static bool one_node(void)
{
    if (near_cpu.node != far_cpu.node)
        return false;
    tap_skip("one node");
    return true;
}

static void expect_on(long first, long last, int node, const char *when)
{
    long count = node_has(node, area + first * PAGE, last - first);

    CHECK(count == last - first, "%s: %ld of %ld pages are on node %d", when, count, last - first, node);
}

struct counts {
    unsigned long set, moved, failed;
};

static struct counts counts(void)
{
    return (struct counts){events_everywhere("lazy_set"), events_everywhere("lazy_moved"),
                           events_everywhere("lazy_failed")};
}

static void expect(struct counts before, unsigned long moved, unsigned long failed, const char *when)
{
    struct counts now = counts();

    CHECK(now.moved - before.moved == moved && now.failed - before.failed == failed,
          "%s: %lu pages moved, %lu failed; not %lu, %lu", when, now.moved - before.moved, now.failed - before.failed,
          moved, failed);
}

static void bind_lazily(void *at, long bytes, int mode, int node, int flags)
{
    unsigned long nodes = mode == DEFAULT ? 0 : 1ul << node;

    CHECK(syscall(SYS_mbind, at, bytes, mode, &nodes, 65ul, MOVE | LAZY | flags) == 0, "%s", strerror(errno));
}

/* Pages that the near CPU has touched first and, with ALL, every other one too. */
static void begin(bool all)
{
    go(&near_cpu);
    area = spread_memory_map(PAGES, PRIVATE);
    for (long i = 0; i < PAGES; i++)
        *word_of(area, i) = 7;
    for (int i = 0; all && i < cpu_count; i++) {
        go(&cpus[i]);
        holds(area, 0, PAGES, 7);
    }
    go(&near_cpu);
}

static void finish(void)
{
    CHECK(audit_own(), "at the end");
    munmap(area, BYTES);
}

/* Once from here, where the process's home is, and once from there, where this kernel may have leased the memory. */
static void from_both(void (*test)(void))
{
    struct cpu cpu = near_cpu;

    test();
    near_cpu = far_cpu;
    far_cpu = cpu;
    test();
    far_cpu = near_cpu;
    near_cpu = cpu;
    go(&near_cpu);
}

/* --- next touch --- */

static void next_touch(bool all)
{
    struct counts before;
    unsigned long away = 0;

    begin(all);
    before = counts();
    MUST(kettle_block_move_later(area, BYTES, KETTLE_TOUCHER, 0));
    expect_on(0, PAGES, near_cpu.node, "marked");
    CHECK(counts().set >= before.set + PAGES, "%lu entries are marked", counts().set - before.set);
    CHECK(audit_own(), "with marked pages");
    for (long i = 0; i < PAGES; i++) {
        const struct cpu *cpu = &cpus[i % cpu_count];

        go(cpu);
        touch(area, i, i + 1);
        expect_on(i, i + 1, cpu->node, "touched");
        away += cpu->node != near_cpu.node;
    }
    expect(before, away, 0, "touched by all CPUs in turns");
    for (int i = 0; i < cpu_count; i++) { /* the marks are gone on all kernels */
        go(&cpus[i]);
        touch(area, 0, PAGES);
    }
    expect(before, away, 0, "touched again");
    for (long i = 0; i < PAGES; i++)
        expect_on(i, i + 1, cpus[i % cpu_count].node, "touched again");
    holds(area, 0, PAGES, 8 + cpu_count);
    finish();
}

static void next_from(void)
{
    next_touch(true);
    next_touch(false);
}

static void test_next(void)
{
    from_both(next_from);
}

/* Reads move, too, and so do the kernel's accesses for the program. */
static void test_ways(void)
{
    struct counts before;
    int pipes[2];
    char byte;

    if (one_node())
        return;
    begin(true);
    before = counts();
    bind_lazily(area, BYTES, PREFERRED, far_cpu.node, 0);
    holds(area, 0, 8, 7);
    MUST(pipe(pipes));
    for (long i = 8; i < 16; i++) {
        CHECK(write(pipes[1], area + i * PAGE, 1) == 1, "%s", strerror(errno));
        CHECK(read(pipes[0], i % 2 == 0 ? area + i * PAGE : &byte, 1) == 1, "%s", strerror(errno));
    }
    close(pipes[0]);
    close(pipes[1]);
    expect_on(0, 16, far_cpu.node, "read, and used by the kernel");
    expect_on(16, PAGES, near_cpu.node, "not touched");
    expect(before, 16, 0, "read, and used by the kernel");
    holds(area, 0, PAGES, 7);
    finish();
}

static void test_right(void)
{
    struct counts before;

    begin(false);
    before = counts();
    bind_lazily(area, BYTES, BIND, near_cpu.node, 0);
    CHECK(counts().set == before.set, "%lu pages are marked where they are", counts().set - before.set);
    touch(area, 0, PAGES);
    expect(before, 0, 0, "where they are");
    munmap(area, BYTES);
    area = spread_memory_map(PAGES, PRIVATE);
    bind_lazily(area, BYTES, BIND, far_cpu.node, 0);
    CHECK(counts().set == before.set, "%lu pages are marked that do not exist", counts().set - before.set);
    touch(area, 0, PAGES);
    expect_on(0, PAGES, far_cpu.node, "new");
    expect(before, 0, 0, "new");
    finish();
}

/* --- the target alone --- */

static void by_target(bool all)
{
    struct counts before;

    begin(all);
    before = counts();
    MUST(kettle_block_move_later(area, BYTES, far_cpu.node, 1));
    for (int i = 0; i < cpu_count; i++) {
        go(&cpus[i]);
        if (cpus[i].node != far_cpu.node)
            touch(area, PAGES / 2, PAGES);
    }
    expect(before, 0, 0, "touched by other nodes");
    expect_on(0, PAGES, near_cpu.node, "touched by other nodes");
    go(&far_cpu);
    touch(area, 0, PAGES / 2);
    expect_on(0, PAGES / 2, far_cpu.node, "touched by the target");
    expect(before, PAGES / 2, 0, "touched by the target");
    if (far_cpu.kernel != near_cpu.kernel) { /* which hides its own entries */
        touch(area, PAGES / 2, PAGES);
        expect_on(0, PAGES, far_cpu.node, "touched by others, and then by the target");
        expect(before, PAGES, 0, "touched by others, and then by the target");
    }
    finish();
}

static void target_from(void)
{
    by_target(true);
    by_target(false);
}

static void test_target(void)
{
    if (!one_node())
        from_both(target_from);
}

/* --- changes --- */

static void fork_from(void)
{
    struct counts before;
    int gate[2];
    pid_t child;
    char byte = 0;

    begin(true);
    before = counts();
    bind_lazily(area, BYTES, PREFERRED, far_cpu.node, 0);
    MUST(pipe(gate));
    child = fork();
    MUST(child);
    if (child == 0) {
        unsigned long moved = events_everywhere("lazy_moved") + events_everywhere("lazy_failed");

        for (int i = 0; i < cpu_count; i++) {
            go(&cpus[i]);
            if (!holds(area, 0, PAGES, 7))
                _exit(1);
        }
        if (events_everywhere("lazy_moved") + events_everywhere("lazy_failed") != moved)
            _exit(2);
        touch(area, 0, PAGES);
        _exit(read(gate[0], &byte, 1) == 1 && holds(area, 0, PAGES, 8) ? 0 : 3);
    }
    go(&near_cpu);
    holds(area, 0, 1, 7);
    expect_on(0, 1, near_cpu.node, "others have it");
    MUST(write(gate[1], &byte, 1) == 1 ? 0 : -1);
    CHECK_EXITS(child, 0);
    touch(area, 0, PAGES);
    expect_on(1, PAGES, far_cpu.node, "after the child's end");
    CHECK(counts().failed - before.failed <= 1, "%lu failed", counts().failed - before.failed);
    holds(area, 0, PAGES, 8);
    close(gate[0]);
    close(gate[1]);
    finish();
}

static void test_fork(void)
{
    if (!one_node())
        from_both(fork_from);
}

static void protect_from(void)
{
    struct counts before;

    begin(true);
    before = counts();
    bind_lazily(area, BYTES, PREFERRED, far_cpu.node, 0);
    MUST(mprotect(area, BYTES, PROT_READ));
    MUST(mprotect(area, BYTES, READ_WRITE));
    for (int i = 0; i < cpu_count; i++) {
        go(&cpus[i]);
        touch(area, 0, PAGES);
    }
    expect(before, 0, 0, "protected");
    expect_on(0, PAGES, near_cpu.node, "protected");
    MUST(mprotect(area, BYTES, PROT_READ));
    bind_lazily(area, BYTES, PREFERRED, far_cpu.node, 0);
    go(&near_cpu);
    for (long i = 0; i < PAGES; i++)
        CHECK(!memory_writable(area + i * PAGE), "page %ld can be written", i);
    expect(before, 0, 0, "forbidden");
    holds(area, 0, PAGES, 7 + cpu_count);
    expect(before, PAGES, 0, "allowed");
    expect_on(0, PAGES, far_cpu.node, "allowed");
    MUST(mprotect(area, BYTES, READ_WRITE));
    finish();
}

static void test_protect(void)
{
    if (!one_node())
        from_both(protect_from);
}

static void unmap_from(void)
{
    struct counts before;

    begin(true);
    before = counts();
    bind_lazily(area, BYTES, PREFERRED, far_cpu.node, 0);
    MUST(munmap(area, BYTES / 4));
    MUST(mmap(area, BYTES / 4, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0) == area ? 0 : -1);
    MUST(madvise(area + BYTES / 4, BYTES / 4, MADV_DONTNEED));
    touch(area, 0, PAGES);
    expect_on(0, PAGES / 4, near_cpu.node, "new memory");
    expect_on(PAGES / 4, PAGES, far_cpu.node, "discarded, and marked");
    expect(before, PAGES / 2, 0, "half of it is new");
    holds(area, 0, PAGES / 2, 1);
    holds(area, PAGES / 2, PAGES, 8);
    finish();
}

static void test_unmap(void)
{
    if (!one_node())
        from_both(unmap_from);
}

static void remap_from(void)
{
    struct counts before;
    char *room, *moved;

    begin(true);
    before = counts();
    bind_lazily(area, BYTES, PREFERRED, far_cpu.node, 0);
    room = spread_memory_map(PAGES, PRIVATE);
    moved = mremap(area, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    if (!CHECK(moved == room, "%s", strerror(errno)))
        return;
    area = moved;
    touch(area, 0, PAGES);
    expect_on(0, PAGES, far_cpu.node, "elsewhere");
    expect(before, PAGES, 0, "elsewhere");
    for (int i = 0; i < cpu_count; i++) {
        go(&cpus[i]);
        holds(area, 0, PAGES, 8);
    }
    finish();
}

static void test_remap(void)
{
    if (!one_node())
        from_both(remap_from);
}

/* An eager move takes marks along; other pages keep them. */
static void moved_from(void)
{
    struct counts before;
    unsigned long nodes = 1ul << far_cpu.node;

    begin(true);
    before = counts();
    MUST(kettle_block_move_later(area, BYTES, KETTLE_TOUCHER, 0));
    CHECK(syscall(SYS_mbind, area, BYTES / 2, PREFERRED, &nodes, 65ul, MOVE) == 0, "%s", strerror(errno));
    expect_on(0, PAGES / 2, far_cpu.node, "moved at once");
    touch(area, 0, PAGES);
    expect(before, 0, 0, "touched where they are wanted");
    go(&far_cpu);
    touch(area, 0, PAGES);
    expect(before, 0, 0, "not marked any more");
    expect_on(PAGES / 2, PAGES, near_cpu.node, "not marked any more");
    finish();
}

static void test_moved(void)
{
    if (!one_node())
        from_both(moved_from);
}

/* --- looks for accesses hide pages, too --- */

static void look(int kernel)
{
    unsigned long looks = events_of(kernel, "seen_looks");

    MUST(kettle_control("numaperiod=1"));
    UNTIL(events_of(kernel, "seen_looks") >= looks + 2, "two looks");
    MUST(kettle_control("numaperiod=10000"));
}

static void test_looks(void)
{
    struct counts before;

    if (one_node())
        return;
    begin(true);
    MUST(kettle_control("numasee=faults"));
    MUST(kettle_control("numa=first-touch"));
    before = counts();
    look(near_cpu.kernel);
    bind_lazily(area, BYTES, PREFERRED, far_cpu.node, LAZY_TARGET);
    look(near_cpu.kernel);
    touch(area, 0, PAGES);
    expect(before, 0, 0, "touched by another node");
    go(&far_cpu);
    look(far_cpu.kernel); /* where one kernel has both nodes, it hides again what has been shown */
    touch(area, 0, PAGES);
    expect_on(0, PAGES, far_cpu.node, "touched by the target");
    expect(before, PAGES, 0, "touched by the target");
    look(far_cpu.kernel);
    touch(area, 0, PAGES);
    expect(before, PAGES, 0, "touched again");
    MUST(kettle_control("numa=none"));
    MUST(kettle_control("numasee=accessed"));
    MUST(kettle_control("numaperiod=100"));
    finish();
}

/* --- large pages --- */

static long large_kb(void)
{
    return events_reported("/proc/self/kettle", " huge ");
}

static void test_large(void)
{
    struct counts before;
    char *all, *large;

    if (one_node())
        return;
    go(&near_cpu);
    all = spread_memory_map(2 * HUGE / PAGE, PRIVATE);
    large = all + (HUGE - (long)((uintptr_t)all % HUGE)) % HUGE;
    MUST(madvise(large, HUGE, MADV_HUGEPAGE));
    touch(large, 0, HUGE / PAGE);
    if (large_kb() < HUGE >> 10) {
        tap_skip("no large page");
    } else {
        before = counts();
        bind_lazily(large, HUGE, PREFERRED, far_cpu.node, 0);
        CHECK(audit_own(), "with a marked large page");
        touch(large, 100, 101);
        CHECK(node_has(far_cpu.node, large, HUGE / PAGE) == HUGE / PAGE, "%ld pages have moved",
              node_has(far_cpu.node, large, HUGE / PAGE));
        expect(before, HUGE / PAGE, 0, "one touch");
        CHECK(large_kb() >= HUGE >> 10, "the page is not large any more");
        MUST(kettle_block_move_later(large, HUGE, KETTLE_TOUCHER, 0));
        go(&far_cpu);
        touch(large, 7, 8); /* it is here */
        go(&near_cpu);
        touch(large, 7, 8);
        expect(before, HUGE / PAGE, 0, "the first touch was where it is");
        MUST(kettle_block_move_later(large, HUGE / 2, KETTLE_TOUCHER, 0));
        touch(large, 0, HUGE / PAGE);
        CHECK(node_has(near_cpu.node, large, HUGE / PAGE / 2) == HUGE / PAGE / 2 &&
                  node_has(far_cpu.node, large + HUGE / 2, HUGE / PAGE / 2) == HUGE / PAGE / 2,
              "half of it has moved");
        for (long i = 0; i < HUGE / PAGE; i++)
            CHECK(*word_of(large, i) == 2 + (i == 100) + 2 * (i == 7), "page %ld: %ld", i, *word_of(large, i));
    }
    CHECK(audit_own(), "at the end");
    munmap(all, 2 * HUGE);
}

/* --- many at once --- */

static atomic_int arrived, gone, round_now;

/* All in one order, so that many touch a page at once. A thread whose CPU has stopped stays where it is. */
static void toucher(struct thread *thread)
{
    go(&cpus[thread->index % cpu_count]);
    for (int round = 1; round <= ROUNDS; round++) {
        atomic_fetch_add(&arrived, 1);
        while (atomic_load(&round_now) < round)
            sched_yield();
        for (long i = 0; i < FEW; i++)
            __atomic_fetch_add(word_of(area, i * 7 % FEW), 1, __ATOMIC_SEQ_CST);
        atomic_fetch_add(&gone, 1);
    }
}

/* ALL kernels run all the time, and have memory. */
static void touch_together(bool all)
{
    struct thread threads[8] = {{0}};
    struct counts before;
    int count = (int)TAP_COUNT(threads);

    begin(true);
    atomic_store(&arrived, 0);
    atomic_store(&gone, 0);
    atomic_store(&round_now, 0);
    for (int i = 0; i < count; i++) {
        threads[i].index = i;
        REQUIRE(thread_start(&threads[i], toucher), "%s", strerror(errno));
    }
    for (int round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&arrived) < round * count)
            sched_yield();
        before = counts();
        MUST(kettle_block_move_later(area, FEW * PAGE, round % 3 == 0 ? far_cpu.node : KETTLE_TOUCHER, round % 6 == 0));
        atomic_store(&round_now, round);
        while (atomic_load(&gone) < round * count)
            sched_yield();
        if (!all)
            continue;
        CHECK(counts().moved - before.moved <= FEW && counts().failed == before.failed,
              "round %d: %lu moves of %ld pages, %lu failed", round, counts().moved - before.moved, FEW,
              counts().failed - before.failed);
        if (round % 6 == 3)
            expect_on(0, FEW, far_cpu.node, "all together");
    }
    for (int i = 0; i < count; i++)
        CHECK(thread_join(&threads[i]), "%s", strerror(errno));
    holds(area, 0, FEW, 7 + ROUNDS * count);
    finish();
}

static void test_together(void)
{
    touch_together(true);
}

static void test_storm(void)
{
    for (int i = 0; i < 2; i++)
        touch_together(false);
}

/* --- the calls --- */

static void test_wrong(void)
{
    static const int wrong[] = {LAZY,
                                LAZY_TARGET,
                                MOVE | LAZY_TARGET,
                                MOVE | STRICT | LAZY,
                                MOVE_ALL | LAZY,
                                MOVE | MOVE_ALL | LAZY,
                                STRICT | LAZY,
                                MOVE | LAZY | LAZY_TARGET << 1};
    unsigned long nodes = 1ul << near_cpu.node, found = 0;
    struct counts before;
    int mode = 0;

    begin(false);
    before = counts();
    for (size_t i = 0; i < TAP_COUNT(wrong); i++)
        CHECK_ERROR(syscall(SYS_mbind, area, BYTES, BIND, &nodes, 65ul, wrong[i]), EINVAL);
    CHECK_ERROR(syscall(SYS_mbind, area, BYTES, DEFAULT, NULL, 0ul, MOVE | LAZY | LAZY_TARGET), EINVAL);
    CHECK_ERROR(kettle_block_move_later(area, BYTES, KETTLE_TOUCHER, 1), EINVAL);
    CHECK_ERROR(kettle_block_move_later(area, BYTES, KETTLE_NODES - 1, 0), EINVAL);
    CHECK_ERROR(kettle_block_move_later(area, 0, near_cpu.node, 0), EINVAL);
    CHECK(counts().set == before.set, "%lu pages are marked", counts().set - before.set);
    CHECK(syscall(SYS_mbind, area, BYTES, BIND, &nodes, 65ul, MOVE | LAZY | LAZY_TARGET) == 0, "%s", strerror(errno));
    CHECK(syscall(SYS_get_mempolicy, &mode, &found, 65ul, area, 2ul) == 0 && mode == BIND && found == nodes,
          "mode %x, nodes %lx", (unsigned)mode, found);
    munmap(area, BYTES / 2);
    CHECK_ERROR(kettle_block_move_later(area, BYTES, near_cpu.node, 0), EFAULT);
    area = area + BYTES / 2;
    CHECK(audit_own(), "at the end");
    munmap(area, BYTES / 2);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"next", "a marked page moves once, to the CPU that touches it first", test_next},
        {"ways", "reads and the kernel's accesses move pages, and what is not touched stays", test_ways},
        {"right", "pages that are where they are wanted, or do not exist, are not marked", test_right},
        {"target", "a page moves by a touch of the target alone, if that is asked for", test_target},
        {"fork", "a child has no marks, and the parent keeps them", test_fork},
        {"protect", "a change of protection takes marks off, and a forbidden access does not", test_protect},
        {"unmap", "what is unmapped or discarded while it is marked is gone", test_unmap},
        {"remap", "marks move with a mapping", test_remap},
        {"moved", "a move takes marks off, and a touch where the page is wanted", test_moved},
        {"looks", "looks for accesses hide marked pages again, and lose no mark", test_looks},
        {"large", "a large page moves as one", test_large},
        {"together", "pages that all CPUs touch at once move once, and no write is lost", test_together},
        {"storm", "no write is lost, whatever becomes of the kernels", test_storm},
        {"wrong", "wrong flags are refused, and mark nothing", test_wrong},
    };

    find_cpus();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
