/* test-advise: what madvise does with memory that several kernels have touched, and what forks make of it. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"

#define PAGES 24l

/* Those that the C library may not know, by Linux's numbers. */
enum { COLD = 20, PAGEOUT = 21, POPULATE_READ = 22, POPULATE_WRITE = 23, DONTNEED_LOCKED = 24, SOFT = 1000 };

static int advise(char *area, long pages, int advice)
{
    return (int)syscall(SYS_madvise, area, pages * PAGE, advice);
}

static void test_discard(void)
{
    static const int advices[] = {MADV_DONTNEED, DONTNEED_LOCKED};

    for (int k = 0; k < kernels_count(); k++) {
        for (size_t i = 0; i < TAP_COUNT(advices); i++) {
            char *area = spread_memory_map(PAGES, PRIVATE);

            spread_memory_fill(area, 0, PAGES, 1);
            kernels_go(k);
            CHECK(advise(area + 3 * PAGE, 10, advices[i]) == 0, "%d: %s", advices[i], strerror(errno));
            CHECK(spread_memory_holds(area, 3, 13, 0), "what was given up is not zero");
            CHECK(spread_memory_holds(area, 0, 3, 1) && spread_memory_holds(area, 13, PAGES, 1),
                  "the rest has changed");
            munmap(area, PAGES * PAGE);
        }
    }
}

/* Each page has its old contents or zeros, and keeps what is written then. */
static void test_free(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = spread_memory_map(PAGES, PRIVATE);

        spread_memory_fill(area, 0, PAGES, 2);
        kernels_go(k);
        CHECK(advise(area, PAGES, MADV_FREE) == 0, "%s", strerror(errno));
        for (long page = 0; page < PAGES; page++)
            CHECK(spread_memory_holds(area, page, page + 1, 0) || spread_memory_holds(area, page, page + 1, 2),
                  "page %ld", page);
        spread_memory_fill(area, 0, PAGES, 3);
        CHECK(spread_memory_holds(area, 0, PAGES, 3), "what is written is not kept");
        munmap(area, PAGES * PAGE);
    }
}

static int child_zero(void *context)
{
    return spread_memory_holds(context, 2, 6, 0) && spread_memory_holds(context, 6, PAGES, 4) ? 0 : 1;
}

static int child_remove(void *context)
{
    char *area = context;

    return advise(area + 2 * PAGE, 4, MADV_REMOVE) == 0 ? child_zero(context) : 2;
}

static void test_remove(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = spread_memory_map(PAGES, SHARED);

        spread_memory_fill(area, 0, PAGES, 4);
        kernels_go(k);
        CHECK(tap_fork(child_remove, area) == 0, "kernel %d: in the child", k);
        CHECK(child_zero(area) == 0, "kernel %d: in the parent", k);
        munmap(area, PAGES * PAGE);
    }
}

/* --- forks --- */

static int child_of_bits(void *context)
{
    char *area = context;

    if (memory_readable(area + 4 * PAGE) || memory_readable(area + 7 * PAGE))
        return 1;
    if (!spread_memory_holds(area, 0, 4, 5) || !spread_memory_holds(area, 12, PAGES, 5))
        return 2;
    if (!spread_memory_holds(area, 8, 12, 0))
        return 3;
    spread_memory_fill(area, 8, 12, 6);
    return spread_memory_holds(area, 8, 12, 6) ? 0 : 4;
}

/* Of AREA pages 4 to 7 are not for children, 8 to 11 are zero for them. */
static void test_fork_bits(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = spread_memory_map(PAGES, PRIVATE);
        int end;

        spread_memory_fill(area, 0, PAGES, 5);
        kernels_go(k);
        CHECK(advise(area + 4 * PAGE, 6, MADV_DONTFORK) == 0, "%s", strerror(errno));
        CHECK(advise(area + 8 * PAGE, 4, MADV_WIPEONFORK) == 0, "%s", strerror(errno));
        CHECK(advise(area + 8 * PAGE, 4, MADV_DOFORK) == 0, "%s", strerror(errno));
        kernels_go(k + 1);
        for (int round = 0; round < 2; round++) {
            end = tap_fork(child_of_bits, area);
            CHECK(end == 0, "kernel %d: %d", k, end);
            CHECK(spread_memory_holds(area, 0, PAGES, 5), "kernel %d: the parent's pages have changed", k);
        }
        kernels_go(k);
        CHECK(advise(area, PAGES, MADV_DOFORK) == 0 && advise(area, PAGES, MADV_KEEPONFORK) == 0, "%s",
              strerror(errno));
        spread_memory_fill(area, 0, PAGES, 6);
        CHECK(tap_fork(child_of_bits, area) == 1, "kernel %d: all are the child's again", k);
        munmap(area, PAGES * PAGE);
    }
    kernels_go(0);
}

static int wiped_again(void *context)
{
    if (!spread_memory_holds(context, 0, PAGES, 0))
        return 1;
    spread_memory_fill(context, 0, PAGES, 7);
    return tap_fork(child_zero, context) == 1 && spread_memory_holds(context, 0, PAGES, 7) ? 0 : 2;
}

static void test_wipe_stays(void)
{
    char *area = spread_memory_map(PAGES, PRIVATE);

    spread_memory_fill(area, 0, PAGES, 8);
    CHECK(advise(area, PAGES, MADV_WIPEONFORK) == 0, "%s", strerror(errno));
    CHECK(tap_fork(wiped_again, area) == 0, "the child's child has what the child has written");
    CHECK(spread_memory_holds(area, 0, PAGES, 8), "the parent's pages have changed");
    munmap(area, PAGES * PAGE);
}

/* --- hints --- */

static void test_hints(void)
{
    static const int advices[] = {
        MADV_NORMAL,     MADV_RANDOM,   MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTDUMP, MADV_DODUMP,     MADV_HUGEPAGE,
        MADV_NOHUGEPAGE, COLD,          PAGEOUT,         MADV_DONTFORK, MADV_DOFORK,   MADV_WIPEONFORK, MADV_KEEPONFORK,
        POPULATE_READ,   POPULATE_WRITE};
    char *area = spread_memory_map(PAGES, PRIVATE), *hole = spread_memory_map(PAGES, PRIVATE);

    spread_memory_fill(area, 0, PAGES, 9);
    CHECK(munmap(hole + 3 * PAGE, PAGE) == 0, "%s", strerror(errno));
    for (size_t i = 0; i < TAP_COUNT(advices); i++) {
        kernels_go((long)i);
        CHECK(advise(area, PAGES, advices[i]) == 0, "%d: %s", advices[i], strerror(errno));
        CHECK(advise(area, 0, advices[i]) == 0, "%d, nothing: %s", advices[i], strerror(errno));
        CHECK_ERROR(advise(area + 1, 1, advices[i]), EINVAL);
        CHECK_ERROR(syscall(SYS_madvise, area, -1l, advices[i]), EINVAL);
        CHECK_ERROR(advise(hole, PAGES, advices[i]), ENOMEM);
        CHECK_ERROR(advise(TAP_UNMAPPED, 1, advices[i]), ENOMEM);
        CHECK_ERROR(advise(TAP_KERNEL_ADDRESS, 1, advices[i]), ENOMEM);
    }
    CHECK(spread_memory_holds(area, 0, PAGES, 9), "a hint has changed something");
    munmap(area, PAGES * PAGE);
    munmap(hole, PAGES * PAGE);
    kernels_go(0);
}

static void test_populate(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = spread_memory_map(PAGES, PRIVATE);
        unsigned char there[PAGES];

        spread_memory_fill(area, 0, 3, 10);
        kernels_go(k);
        CHECK(advise(area, PAGES / 2, POPULATE_READ) == 0, "%s", strerror(errno));
        CHECK(advise(area + PAGES / 2 * PAGE, PAGES / 2, POPULATE_WRITE) == 0, "%s", strerror(errno));
        CHECK(mincore(area, PAGES * PAGE, there) == 0, "%s", strerror(errno));
        for (long page = 0; page < PAGES; page++)
            CHECK((there[page] & 1) != 0, "kernel %d: page %ld", k, page);
        CHECK(spread_memory_holds(area, 0, 3, 10) && spread_memory_holds(area, 3, PAGES, 0), "the pages are others");
        CHECK(mprotect(area, PAGES * PAGE, PROT_READ) == 0, "%s", strerror(errno));
        CHECK_ERROR(advise(area, PAGES, POPULATE_WRITE), EINVAL);
        CHECK(mprotect(area, PAGES * PAGE, PROT_NONE) == 0, "%s", strerror(errno));
        CHECK_ERROR(advise(area, PAGES, POPULATE_READ), EINVAL);
        munmap(area, PAGES * PAGE);
    }
}

static void test_errors(void)
{
    char *area = spread_memory_map(4, PRIVATE), *shared = spread_memory_map(4, SHARED);

    kernels_go(1);
    spread_memory_fill(area, 0, 4, 11);
    spread_memory_fill(shared, 0, 4, 11);
    CHECK_ERROR(advise(area, 4, 5), EINVAL);
    CHECK_ERROR(advise(area, 4, SOFT), EINVAL);
    CHECK_ERROR(advise(area, 0, SOFT), EINVAL);
    CHECK_ERROR(advise(area, 4, MADV_REMOVE), EINVAL);
    CHECK_ERROR(advise(shared, 4, MADV_FREE), EINVAL);
    CHECK_ERROR(advise(shared, 4, MADV_WIPEONFORK), EINVAL);
    CHECK(advise(shared, 4, MADV_DONTNEED) == 0, "%s", strerror(errno));
    CHECK(spread_memory_holds(shared, 0, 4, 11), "shared pages have gone");
    CHECK(mprotect(shared, 4 * PAGE, PROT_READ) == 0, "%s", strerror(errno));
    CHECK(advise(shared, 4, MADV_REMOVE) == 0, "%s", strerror(errno));
    CHECK(spread_memory_holds(shared, 0, 4, 0), "removed pages that may only be read are not empty");
    CHECK(mlock(area, 4 * PAGE) == 0, "%s", strerror(errno));
    CHECK_ERROR(advise(area, 4, MADV_DONTNEED), EINVAL);
    CHECK_ERROR(advise(area, 4, MADV_FREE), EINVAL);
    CHECK_ERROR(advise(area, 4, COLD), EINVAL);
    CHECK_ERROR(advise(area, 4, PAGEOUT), EINVAL);
    CHECK(spread_memory_holds(area, 0, 4, 11), "locked pages have gone");
    CHECK(advise(area, 4, DONTNEED_LOCKED) == 0, "%s", strerror(errno));
    CHECK(spread_memory_holds(area, 0, 4, 0), "they have not, by DONTNEED_LOCKED");
    CHECK(munlock(area, 4 * PAGE) == 0 && advise(area, 4, MADV_DONTNEED) == 0, "%s", strerror(errno));
    munmap(area, 4 * PAGE);
    munmap(shared, 4 * PAGE);
    kernels_go(0);
}

#define MANY 3000l

/* A look at thousands of areas, of which a kernel answers for some at a time, finds a hole in the first of them, and a
 * lock on the last. */
static void test_many(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area;

        kernels_go(0);
        area = spread_memory_map(MANY + 1, PRIVATE);
        if (area == NULL)
            return;
        for (long i = 0; i < MANY; i += 2)
            CHECK(mprotect(area + i * PAGE, PAGE, PROT_READ) == 0, "%s", strerror(errno));
        kernels_go(k);
        CHECK(msync(area, MANY * PAGE, MS_ASYNC) == 0, "%s", strerror(errno));
        CHECK(munmap(area + PAGE, PAGE) == 0, "%s", strerror(errno));
        CHECK_ERROR(msync(area, MANY * PAGE, MS_ASYNC), ENOMEM);
        CHECK(msync(area + 2 * PAGE, (MANY - 2) * PAGE, MS_ASYNC | MS_INVALIDATE) == 0, "%s", strerror(errno));
        CHECK(mlock(area + (MANY - 1) * PAGE, PAGE) == 0, "%s", strerror(errno));
        CHECK_ERROR(msync(area + 2 * PAGE, (MANY - 2) * PAGE, MS_ASYNC | MS_INVALIDATE), EBUSY);
        CHECK(munmap(area, (MANY + 1) * PAGE) == 0, "%s", strerror(errno));
    }
    kernels_go(0);
}

static const struct tap_test tests[] = {
    {"discard", "MADV_DONTNEED gives pages up on every kernel", test_discard},
    {"free", "MADV_FREE leaves old contents or zeros", test_free},
    {"remove", "MADV_REMOVE empties shared pages for all who have them", test_remove},
    {"fork-bits", "MADV_DONTFORK and MADV_WIPEONFORK keep pages from children", test_fork_bits},
    {"wipe-stays", "MADV_WIPEONFORK holds for children of children", test_wipe_stays},
    {"hints", "MADV_NORMAL and the other hints change nothing and refuse what is not mapped", test_hints},
    {"populate", "MADV_POPULATE_READ and MADV_POPULATE_WRITE give pages frames", test_populate},
    {"errors", "madvise refuses what Linux refuses", test_errors},
    {"many", "a look at thousands of mappings finds the hole in the first and the lock on the last", test_many},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
