/* test-remap: mremap as Linux defines it, of pages that several kernels have touched. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#define PAGES 24l
#define LOST 1024l /* KiB that would be a leak; an audit of the machine has less than half of it */

static char *remap(char *from, long old, long new, int flags, void *to)
{
    return (char *)syscall(SYS_mremap, from, old * PAGE, new *PAGE, flags, to);
}

/* A free range of PAGES. */
static char *free_range(long pages)
{
    char *area = spread_memory_map(pages, PRIVATE);

    munmap(area, (size_t)(pages * PAGE));
    return area;
}

static void test_shrink(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = spread_memory_map(PAGES, PRIVATE);

        spread_memory_fill(area, 0, PAGES, 1);
        kernels_go(k);
        CHECK(remap(area, PAGES, 10, 0, NULL) == area, "%s", strerror(errno));
        CHECK(spread_memory_holds(area, 0, 10, 1), "what stays has changed");
        CHECK(!memory_readable(area + 10 * PAGE) && !memory_readable(area + (PAGES - 1) * PAGE), "the end is there");
        CHECK(remap(area, 10, 10, 0, NULL) == area, "the same size: %s", strerror(errno));
        munmap(area, 10 * PAGE);
    }
}

static void test_grow_in_place(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = spread_memory_map(PAGES, PRIVATE);

        spread_memory_fill(area, 0, 10, 2);
        CHECK(munmap(area + 10 * PAGE, (PAGES - 10) * PAGE) == 0, "%s", strerror(errno));
        kernels_go(k);
        CHECK(remap(area, 10, PAGES, 0, NULL) == area, "%s", strerror(errno));
        CHECK(spread_memory_holds(area, 0, 10, 2) && spread_memory_holds(area, 10, PAGES, 0), "the pages are others");
        spread_memory_fill(area, 10, PAGES, 3);
        CHECK(spread_memory_holds(area, 10, PAGES, 3), "the new pages do not keep what is written");
        CHECK_ERROR((long)remap(area, 5, 6, 0, NULL), ENOMEM); /* its neighbour is in the way */
        munmap(area, PAGES * PAGE);
    }
}

/* A page of shared memory that has been unmapped, or is mapped elsewhere, does not come again with another frame. What
 * is behind the end of the mapping comes, without memory. */
static void test_grow_shared(void)
{
    if (!tap_on_kettle()) {
        tap_skip("Linux keeps the pages behind a shorter end");
        return;
    }
    for (int k = 0; k < kernels_count(); k++) {
        char *area = spread_memory_map(PAGES, SHARED), *moved;

        spread_memory_fill(area, 0, PAGES, 3);
        kernels_go(k);
        CHECK_ERROR((long)remap(area + PAGE, 2, 4, MREMAP_MAYMOVE, NULL), ENOMEM);
        CHECK_ERROR((long)remap(area, PAGES, 16 * PAGES * PAGES, MREMAP_MAYMOVE, NULL), ENOMEM);
        moved = remap(area, PAGES, 2 * PAGES, MREMAP_MAYMOVE, NULL);
        if (!CHECK(moved != MAP_FAILED, "%s", strerror(errno)))
            return;
        CHECK(spread_memory_holds(moved, 0, PAGES, 3), "kernel %d: the pages are others", k);
        for (int other = 0; other < kernels_count(); other++) {
            kernels_go(other);
            CHECK(!memory_readable(moved + PAGES * PAGE) && !memory_readable(moved + (2 * PAGES - 1) * PAGE),
                  "kernel %d has memory behind the end", other);
        }
        kernels_go(k);
        CHECK(remap(moved, 2 * PAGES, PAGES - 1, 0, NULL) == moved, "%s", strerror(errno));
        CHECK_ERROR((long)remap(moved, PAGES - 1, PAGES, MREMAP_MAYMOVE, NULL), ENOMEM);
        CHECK_ERROR((long)remap(moved, PAGES - 1, 2 * PAGES, MREMAP_MAYMOVE, NULL), ENOMEM);
        CHECK_ERROR((long)remap(moved, 0, PAGES, MREMAP_MAYMOVE, NULL), ENOMEM);
        CHECK(spread_memory_holds(moved, 0, PAGES - 1, 3), "kernel %d: a refused call has changed pages", k);
        munmap(moved, (PAGES - 1) * PAGE);
    }
}

/* Moves AREA, which seed 4 is in, once from each kernel. */
static void check_moves(int type, bool fixed)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = spread_memory_map(PAGES, type), *to, *moved;

        if (area == NULL)
            return;
        to = free_range(4 * PAGES);
        spread_memory_fill(area, 0, PAGES - 2, 4); /* two pages nobody has touched */
        kernels_go(k);
        if (fixed) {
            CHECK(mmap(to, PAGES * PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0) == to, "%s", strerror(errno));
            spread_memory_fill(to, 0, PAGES, 5);
            kernels_go(k);
            moved = remap(area, PAGES, PAGES + 7, MREMAP_MAYMOVE | MREMAP_FIXED, to);
            CHECK(moved == to, "%p: %s", (void *)moved, strerror(errno));
        } else {
            char *wall = mmap(area + PAGES * PAGE, PAGE, PROT_READ, PRIVATE | MAP_FIXED_NOREPLACE, -1, 0);

            moved = remap(area, PAGES, PAGES + 7, MREMAP_MAYMOVE, NULL);
            CHECK(moved != MAP_FAILED && moved != area, "%p: %s", (void *)moved, strerror(errno));
            if (wall == area + PAGES * PAGE)
                munmap(wall, PAGE);
        }
        if (moved == MAP_FAILED)
            return;
        CHECK(spread_memory_holds(moved, 0, PAGES - 2, 4), "kernel %d: the pages are others", k);
        CHECK(!memory_readable(area) && !memory_readable(area + (PAGES - 1) * PAGE), "the old place is there");
        if ((type & MAP_PRIVATE) != 0) {
            CHECK(spread_memory_holds(moved, PAGES - 2, PAGES + 7, 0), "kernel %d: new pages are not zero", k);
            spread_memory_fill(moved, 0, PAGES + 7, 6);
            CHECK(spread_memory_holds(moved, 0, PAGES + 7, 6), "kernel %d: they do not keep what is written", k);
        }
        munmap(moved, (PAGES + 7) * PAGE);
        CHECK(!memory_readable(moved), "the new place stays");
    }
}

static void test_move(void)
{
    check_moves(PRIVATE, false);
    check_moves(SHARED, false);
}

static void test_move_fixed(void)
{
    check_moves(PRIVATE, true);
    check_moves(SHARED, true);
}

static void test_part(void)
{
    char *area = spread_memory_map(PAGES, PRIVATE), *to = free_range(PAGES), *moved;

    spread_memory_fill(area, 0, PAGES, 7);
    kernels_go(1);
    CHECK(mprotect(area, PAGES * PAGE, PROT_READ) == 0, "%s", strerror(errno));
    moved = remap(area + 8 * PAGE, 8, 4, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    CHECK(moved == to, "%s", strerror(errno));
    CHECK(spread_memory_holds(area, 0, 8, 7) && spread_memory_holds(area, 16, PAGES, 7), "what stays has changed");
    CHECK(spread_memory_holds(moved - 8 * PAGE, 8, 12, 7), "what has moved has changed");
    for (long page = 8; page < 16; page++)
        CHECK(!memory_readable(area + page * PAGE), "page %ld is there", page);
    errno = 0;
    CHECK(syscall(SYS_clock_gettime, 1, moved) == -1 && errno == EFAULT, "it can be written");
    CHECK(mprotect(moved, 4 * PAGE, READ_WRITE) == 0, "%s", strerror(errno));
    spread_memory_fill(moved, 0, 4, 8);
    CHECK(spread_memory_holds(moved, 0, 4, 8), "nor when it may be");
    munmap(area, PAGES * PAGE);
    munmap(moved, 4 * PAGE);
}

static void test_dont_unmap(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = spread_memory_map(PAGES, PRIVATE), *moved;

        spread_memory_fill(area, 0, PAGES, 9);
        kernels_go(k);
        moved = remap(area, PAGES, PAGES, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
        if (!CHECK(moved != MAP_FAILED && moved != area, "%s", strerror(errno)))
            return;
        CHECK(spread_memory_holds(moved, 0, PAGES, 9), "the pages are others");
        CHECK(spread_memory_holds(area, 0, PAGES, 0), "the old ones are not zero");
        spread_memory_fill(area, 0, PAGES, 10);
        CHECK(spread_memory_holds(moved, 0, PAGES, 9) && spread_memory_holds(area, 0, PAGES, 10), "they are not apart");
        munmap(area, PAGES * PAGE);
        munmap(moved, PAGES * PAGE);
    }
}

/* --- shared memory in two places --- */

struct pair {
    char *one, *two;
};

static int write_both(void *context)
{
    const struct pair *pair = context;

    spread_memory_fill(pair->one, 0, PAGES, 11);
    if (!spread_memory_holds(pair->two, 0, PAGES, 11))
        return 1;
    spread_memory_fill(pair->two, 0, PAGES, 12);
    return spread_memory_holds(pair->one, 0, PAGES, 12) ? 0 : 2;
}

static void check_both(int flags)
{
    for (int k = 0; k < kernels_count(); k++) {
        struct pair pair = {.one = spread_memory_map(PAGES, SHARED)};
        long old = flags == MREMAP_DONTUNMAP ? PAGES : 0;
        int end;

        spread_memory_fill(pair.one, 0, PAGES / 2, 13);
        kernels_go(k);
        pair.two = remap(pair.one, old, PAGES, MREMAP_MAYMOVE | flags, NULL);
        if (!CHECK(pair.two != MAP_FAILED && pair.two != pair.one, "%s", strerror(errno)))
            return;
        CHECK(spread_memory_holds(pair.two, 0, PAGES / 2, 13), "the pages are others");
        end = write_both(&pair);
        CHECK(end == 0, "here: %d", end);
        kernels_go(k + 1);
        end = tap_fork(write_both, &pair);
        CHECK(end == 0, "in a child: %d", end);
        CHECK(spread_memory_holds(pair.one, 0, PAGES, 12) && spread_memory_holds(pair.two, 0, PAGES, 12),
              "the child's writes");
        munmap(pair.one, PAGES * PAGE);
        CHECK(spread_memory_holds(pair.two, 0, PAGES, 12), "the second has gone with the first");
        munmap(pair.two, PAGES * PAGE);
    }
}

static void test_duplicate(void)
{
    check_both(0);
}

static void test_shared_dont_unmap(void)
{
    check_both(MREMAP_DONTUNMAP);
}

/* --- with forks --- */

static int child_sees(void *context)
{
    const struct pair *pair = context;
    char *moved;

    if (!spread_memory_holds(pair->two, 0, PAGES, 14))
        return 1;
    kernels_go(1);
    moved = remap(pair->two, PAGES, PAGES, MREMAP_MAYMOVE | MREMAP_FIXED, pair->one);
    if (moved != pair->one || !spread_memory_holds(moved, 0, PAGES, 14))
        return 2;
    spread_memory_fill(moved, 0, PAGES, 15);
    return spread_memory_holds(moved, 0, PAGES, 15) ? 0 : 3;
}

static void test_fork(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        struct pair pair = {.one = spread_memory_map(PAGES, PRIVATE), .two = free_range(PAGES)};
        int end;

        spread_memory_fill(pair.one, 0, PAGES, 14);
        kernels_go(k);
        CHECK(remap(pair.one, PAGES, PAGES, MREMAP_MAYMOVE | MREMAP_FIXED, pair.two) == pair.two, "%s",
              strerror(errno));
        end = tap_fork(child_sees, &pair);
        CHECK(end == 0, "kernel %d: %d", k, end);
        CHECK(spread_memory_holds(pair.two, 0, PAGES, 14), "the child has changed the parent's");
        kernels_go(k + 1);
        CHECK(remap(pair.two, PAGES, PAGES, MREMAP_MAYMOVE | MREMAP_FIXED, pair.one) == pair.one, "%s",
              strerror(errno));
        spread_memory_fill(pair.one, 0, PAGES / 2, 16);
        CHECK(spread_memory_holds(pair.one, 0, PAGES / 2, 16) && spread_memory_holds(pair.one, PAGES / 2, PAGES, 14),
              "back again");
        munmap(pair.one, PAGES * PAGE);
    }
    kernels_go(0);
}

static void test_errors(void)
{
    char *area = spread_memory_map(8, PRIVATE), *shared = spread_memory_map(8, SHARED),
         *hole = spread_memory_map(8, PRIVATE);
    const int fixed = MREMAP_MAYMOVE | MREMAP_FIXED, keep = MREMAP_MAYMOVE | MREMAP_DONTUNMAP;

    kernels_go(1);
    spread_memory_fill(area, 0, 8, 17);
    CHECK_ERROR((long)remap(area, 8, 8, 8, NULL), EINVAL);
    CHECK_ERROR((long)remap(area, 8, 8, MREMAP_FIXED, hole), EINVAL);
    CHECK_ERROR((long)remap(area, 8, 8, MREMAP_DONTUNMAP, NULL), EINVAL);
    CHECK_ERROR((long)remap(area, 8, 9, keep, NULL), EINVAL);
    CHECK_ERROR((long)remap(area + 1, 1, 2, 0, NULL), EINVAL);
    CHECK_ERROR((long)remap(area, 8, 0, 0, NULL), EINVAL);
    CHECK_ERROR(syscall(SYS_mremap, area, 8 * PAGE, -1l, MREMAP_MAYMOVE, NULL), EINVAL);
    CHECK_ERROR((long)remap(area, 0, 8, MREMAP_MAYMOVE, NULL), EINVAL);
    CHECK_ERROR((long)remap(shared, 0, 8, 0, NULL), ENOMEM);
    CHECK_ERROR((long)remap(area, 8, 8, fixed, hole + 1), EINVAL);
    CHECK_ERROR((long)remap(area, 8, 8, fixed, area + 4 * PAGE), EINVAL);
    CHECK_ERROR((long)remap(area + 4 * PAGE, 4, 8, fixed, area), EINVAL);
    CHECK_ERROR((long)remap(area, 8, 8, fixed, TAP_KERNEL_ADDRESS), EINVAL);
    CHECK_ERROR((long)remap(TAP_UNMAPPED, 1, 1, 0, NULL), EFAULT);
    CHECK_ERROR((long)remap(TAP_UNMAPPED, 1, 2, MREMAP_MAYMOVE, NULL), EFAULT);
    CHECK_ERROR((long)remap(TAP_KERNEL_ADDRESS, 1, 2, MREMAP_MAYMOVE, NULL), EFAULT);
    CHECK(munmap(hole + 4 * PAGE, PAGE) == 0, "%s", strerror(errno));
    CHECK_ERROR((long)remap(hole, 8, 16, MREMAP_MAYMOVE, NULL), EFAULT);
    CHECK_ERROR((long)remap(hole, 8, 8, keep, NULL), EFAULT);
    CHECK(remap(hole, 8, 8, 0, NULL) == hole, "the same size, across a hole: %s", strerror(errno));
    CHECK_ERROR(syscall(SYS_mremap, area, 8 * PAGE, 1ul << 47, MREMAP_MAYMOVE, NULL), ENOMEM);
    CHECK_ERROR(syscall(SYS_mremap, area, 8 * PAGE, 1ul << 44, MREMAP_MAYMOVE, NULL), ENOMEM);
    CHECK(spread_memory_holds(area, 0, 8, 17), "a refused call has changed something");
    munmap(area, 8 * PAGE);
    munmap(shared, 8 * PAGE);
    munmap(hole, 8 * PAGE);
    kernels_go(0);
}

/* --- threads --- */

#define MOVERS 4
#define ROUNDS 40
static atomic_int go;

/* Moves an area of its own back and forth, and looks at it on the way. */
static void mover(struct thread *thread)
{
    char *place[2] = {thread->argument, (char *)thread->argument + 64 * PAGE};

    kernels_go(thread->index);
    atomic_fetch_add(&go, 1);
    thread_wait(&go, MOVERS);
    for (int round = 0; round < ROUNDS; round++) {
        char *from = place[round % 2], *to = place[1 - round % 2];

        for (long page = 0; page < 16; page++)
            from[page * PAGE + 8] = (char)(round + page);
        if (x86_syscall(SYS_mremap, (long)from, 16 * PAGE, 16 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (long)to, 0) !=
            (long)to) {
            atomic_store(&thread->result, 1);
            return;
        }
        for (long page = 0; page < 16; page++) {
            if (to[page * PAGE + 8] != (char)(round + page))
                atomic_store(&thread->result, 2);
        }
        if (round % 8 == 0)
            kernels_go(thread->index + round);
    }
}

static void test_together(void)
{
    static struct thread threads[MOVERS];
    char *room = spread_memory_map(MOVERS * 128, PRIVATE);

    atomic_store(&go, 0);
    for (int i = 0; i < MOVERS; i++) {
        threads[i] = (struct thread){.index = i, .argument = room + i * 128 * PAGE};
        CHECK(thread_start(&threads[i], mover), "%s", strerror(errno));
    }
    for (int i = 0; i < MOVERS; i++) {
        CHECK(thread_join(&threads[i]), "thread %d does not end", i);
        CHECK(atomic_load(&threads[i].result) == 0, "thread %d: %ld", i, atomic_load(&threads[i].result));
    }
    munmap(room, MOVERS * 128 * PAGE);
}

static long free_memory(void)
{
    struct sysinfo info = {0};

    sysinfo(&info);
    return (long)(info.freeram * info.mem_unit / 1024);
}

static int cycle(void *context)
{
    (void)context;
    test_move();
    test_move_fixed();
    test_dont_unmap();
    test_duplicate();
    return 0;
}

static void test_leak(void)
{
    long before;

    CHECK(tap_fork(cycle, NULL) == 0, "the first time");
    before = tap_settled(free_memory, LOST / 2);
    for (int i = 0; i < 4; i++)
        CHECK(tap_fork(cycle, NULL) == 0, "again");
    tap_note("free before %ld KiB, after %ld KiB", before, free_memory());
    UNTIL(!tap_on_kettle() || free_memory() > before - LOST, "memory to come back from other kernels");
}

static const struct tap_test tests[] = {
    {"shrink", "a mapping becomes shorter", test_shrink},
    {"grow-in-place", "a mapping grows where it is", test_grow_in_place},
    {"grow-shared", "a shared mapping grows behind its end only, and has no memory there", test_grow_shared},
    {"move", "a mapping moves with its pages, whichever kernel has them", test_move},
    {"move-fixed", "a mapping moves to a fixed place and replaces what is there", test_move_fixed},
    {"part", "a part of a mapping moves and keeps its protection", test_part},
    {"dont-unmap", "MREMAP_DONTUNMAP leaves an empty mapping behind", test_dont_unmap},
    {"duplicate", "a shared mapping can be in two places, in children too", test_duplicate},
    {"shared-dont-unmap", "MREMAP_DONTUNMAP of a shared mapping leaves it in both places", test_shared_dont_unmap},
    {"fork", "what a fork shares moves and stays apart", test_fork},
    {"errors", "mremap refuses what Linux refuses and changes nothing", test_errors},
    {"together", "four threads move areas at once", test_together},
    {"leak", "no memory is lost", test_leak},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
