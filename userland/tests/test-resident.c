/* test-resident: mincore, msync, mlock and its kin, of pages that several kernels have touched. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/tests/machine.h"
#include "userland/tests/spread.h"
#include "userland/tests/tap.h"
#include "userland/tests/thread.h"

#define PAGES 100l

static unsigned char there[PAGES];

/* How many of the pages have a frame; -1 after a note. */
static int resident(char *area, long pages)
{
    int count = 0;

    if (!EXPECT(mincore(area, (size_t)(pages * PAGE), there) == 0, "%s", strerror(errno)))
        return -1;
    for (long page = 0; page < pages; page++)
        count += there[page] & 1;
    return count;
}

static void test_mincore(void)
{
    static const int types[] = {PRIVATE, SHARED};

    for (size_t i = 0; i < TAP_COUNT(types); i++) {
        for (int k = 0; k < spread_count(); k++) {
            char *area = spread_map(PAGES, types[i]);

            spread_go(k);
            EXPECT(resident(area, PAGES) == 0, "kernel %d: pages nobody has touched", k);
            spread_fill(area, 30, 70, 1);
            spread_go(k);
            EXPECT(resident(area, PAGES) == 40, "kernel %d: %d of 40", k, resident(area, PAGES));
            for (long page = 0; page < PAGES; page++)
                EXPECT((there[page] & 1) == (page >= 30 && page < 70), "kernel %d: page %ld", k, page);
            EXPECT(mprotect(area, PAGES * PAGE, PROT_NONE) == 0, "%s", strerror(errno));
            EXPECT(resident(area, PAGES) == 40, "kernel %d: without access", k);
            munmap(area, PAGES * PAGE);
        }
    }
    spread_go(0);
}

static void test_mincore_errors(void)
{
    char *area = spread_map(PAGES, PRIVATE);

    spread_go(1);
    spread_fill(area, 0, PAGES, 2);
    EXPECT_ERROR(mincore(area + 1, PAGE, there), EINVAL);
    EXPECT_ERROR(syscall(SYS_mincore, area, -1l, there), ENOMEM);
    EXPECT_ERROR(syscall(SYS_mincore, TAP_KERNEL_ADDRESS, PAGE, there), ENOMEM);
    EXPECT_ERROR(syscall(SYS_mincore, TAP_UNMAPPED, PAGE, there), ENOMEM);
    EXPECT_ERROR(syscall(SYS_mincore, area, PAGE, TAP_UNMAPPED), EFAULT);
    EXPECT_ERROR(syscall(SYS_mincore, area, PAGE, TAP_KERNEL_ADDRESS), EFAULT);
    EXPECT(mincore(area, 0, there) == 0, "nothing: %s", strerror(errno));
    EXPECT(munmap(area + 50 * PAGE, PAGE) == 0, "%s", strerror(errno));
    memset(there, 9, sizeof(there));
    EXPECT_ERROR(mincore(area, PAGES * PAGE, there), ENOMEM);
    EXPECT(there[0] == 1 && there[49] == 1 && there[50] == 9, "what is before the hole");
    munmap(area, PAGES * PAGE);
    spread_go(0);
}

static void test_msync(void)
{
    static const int types[] = {PRIVATE, SHARED};

    for (size_t i = 0; i < TAP_COUNT(types); i++) {
        char *area = spread_map(PAGES, types[i]);

        spread_fill(area, 0, PAGES, 3);
        for (int flags = 0; flags < 4; flags++) {
            spread_go(flags);
            EXPECT(msync(area, PAGES * PAGE, flags) == 0, "%d: %s", flags, strerror(errno));
        }
        EXPECT(msync(area, PAGES * PAGE, MS_SYNC | MS_INVALIDATE) == 0, "%s", strerror(errno));
        EXPECT_ERROR(msync(area, PAGE, MS_SYNC | MS_ASYNC), EINVAL);
        EXPECT_ERROR(msync(area, PAGE, 8), EINVAL);
        EXPECT_ERROR(msync(area + 1, PAGE, MS_SYNC), EINVAL);
        EXPECT_ERROR(syscall(SYS_msync, area, -PAGE, MS_SYNC), ENOMEM);
        EXPECT(msync(area, 0, MS_SYNC) == 0 && msync(TAP_UNMAPPED, 0, MS_SYNC) == 0, "%s", strerror(errno));
        EXPECT_ERROR(msync(TAP_UNMAPPED, PAGE, MS_SYNC), ENOMEM);
        EXPECT_ERROR(msync(TAP_KERNEL_ADDRESS, PAGE, MS_SYNC), ENOMEM);
        EXPECT(mlock(area + PAGE, PAGE) == 0, "%s", strerror(errno));
        EXPECT_ERROR(msync(area, PAGES * PAGE, MS_INVALIDATE), EBUSY);
        EXPECT(msync(area, PAGES * PAGE, MS_ASYNC) == 0, "%s", strerror(errno));
        EXPECT(munmap(area + 5 * PAGE, PAGE) == 0, "%s", strerror(errno));
        EXPECT_ERROR(msync(area, PAGES * PAGE, MS_ASYNC), ENOMEM);
        munmap(area, PAGES * PAGE);
    }
    spread_go(0);
}

static void test_mlock(void)
{
    for (int k = 0; k < spread_count(); k++) {
        char *area = spread_map(PAGES, PRIVATE);

        spread_fill(area, 0, 10, 4);
        spread_go(k);
        EXPECT(mlock(area + 5 * PAGE + 7, 20 * PAGE) == 0, "%s", strerror(errno));
        EXPECT(resident(area, PAGES) == 26, "kernel %d: %d", k, resident(area, PAGES));
        EXPECT(spread_holds(area, 0, 10, 4) && spread_holds(area, 10, 26, 0), "the pages are others");
        EXPECT(syscall(SYS_mlock2, area + 50 * PAGE, 10 * PAGE, 1) == 0, "%s", strerror(errno));
        EXPECT(syscall(SYS_mlock2, area + 70 * PAGE, 10 * PAGE, 0) == 0, "%s", strerror(errno));
        EXPECT(resident(area, PAGES) == 36 && (there[50] & 1) == 0, "kernel %d: on fault", k);
        EXPECT_ERROR(madvise(area + 55 * PAGE, PAGE, MADV_DONTNEED), EINVAL);
        EXPECT(munlock(area, PAGES * PAGE) == 0, "%s", strerror(errno));
        EXPECT(madvise(area, PAGES * PAGE, MADV_DONTNEED) == 0, "%s", strerror(errno));
        munmap(area, PAGES * PAGE);
    }
    spread_go(0);
}

static void test_mlock_errors(void)
{
    char *area = spread_map(PAGES, PRIVATE), *none = mmap(NULL, PAGE, PROT_NONE, PRIVATE, -1, 0);

    spread_go(1);
    EXPECT_ERROR(syscall(SYS_mlock, area, -PAGE), EINVAL);
    EXPECT(mlock(area, 0) == 0 && munlock(area, 0) == 0, "nothing: %s", strerror(errno));
    EXPECT_ERROR(syscall(SYS_mlock2, area, PAGE, 2), EINVAL);
    EXPECT_ERROR(mlock(TAP_UNMAPPED, PAGE), ENOMEM);
    EXPECT_ERROR(munlock(TAP_UNMAPPED, PAGE), ENOMEM);
    EXPECT_ERROR(mlock(TAP_KERNEL_ADDRESS, PAGE), ENOMEM);
    EXPECT_ERROR(mlock(none, PAGE), ENOMEM);
    EXPECT(munmap(area + 50 * PAGE, PAGE) == 0, "%s", strerror(errno));
    EXPECT_ERROR(mlock(area, PAGES * PAGE), ENOMEM);
    EXPECT_ERROR(munlock(area, PAGES * PAGE), ENOMEM);
    EXPECT_ERROR(mlockall(0), EINVAL);
    EXPECT_ERROR(mlockall(8), EINVAL);
    EXPECT_ERROR(mlockall(4), EINVAL);
    munmap(area, PAGES * PAGE);
    munmap(none, PAGE);
    spread_go(0);
}

static int lock_all(void *context)
{
    char *area = spread_map(PAGES, PRIVATE), *later;

    spread_go(1);
    if (mlockall(MCL_CURRENT) != 0 || resident(area, PAGES) != PAGES)
        return 1;
    if (madvise(area, PAGE, MADV_DONTNEED) != -1 || errno != EINVAL)
        return 2;
    later = mmap(NULL, PAGES * PAGE, READ_WRITE, PRIVATE, -1, 0);
    if (resident(later, PAGES) != 0)
        return 3;
    spread_go(2);
    if (mlockall(MCL_FUTURE) != 0 || resident(later, PAGES) != 0)
        return 4;
    spread_go(1);
    later = mmap(NULL, PAGES * PAGE, READ_WRITE, PRIVATE, -1, 0);
    if (resident(later, PAGES) != PAGES)
        return 5;
    if (munlockall() != 0 || madvise(area, PAGE, MADV_DONTNEED) != 0)
        return 6;
    later = mmap(NULL, PAGES * PAGE, READ_WRITE, PRIVATE, -1, 0);
    (void)context;
    return resident(later, PAGES) == 0 ? 0 : 7;
}

static void test_lock_all(void)
{
    int end = spread_child(lock_all, NULL);

    EXPECT(end == 0, "%d", end);
}

static int not_locked(void *context)
{
    return madvise(context, PAGE, MADV_DONTNEED) == 0 ? 0 : 1;
}

static void test_lock_fork(void)
{
    char *area = spread_map(PAGES, PRIVATE), *moved;

    EXPECT(mlock(area, 2 * PAGE) == 0, "%s", strerror(errno));
    EXPECT(spread_child(not_locked, area) == 0, "a child's memory is locked");
    spread_go(1);
    moved = mremap(area, 2 * PAGE, 10 * PAGE, MREMAP_MAYMOVE);
    EXPECT(moved != MAP_FAILED && resident(moved, 10) == 10, "what grows is filled: %s", strerror(errno));
    EXPECT_ERROR(madvise(moved, PAGE, MADV_DONTNEED), EINVAL);
    munmap(moved, 10 * PAGE);
    munmap(area, PAGES * PAGE);
    spread_go(0);
}

static const struct tap_test tests[] = {
    {"mincore finds the pages that any kernel has touched", test_mincore},
    {"mincore refuses what Linux refuses", test_mincore_errors},
    {"msync checks what it is given", test_msync},
    {"mlock fills and munlock lets go", test_mlock},
    {"mlock refuses what Linux refuses", test_mlock_errors},
    {"mlockall is for what is there, or for what comes", test_lock_all},
    {"a lock is not inherited, and grows with its mapping", test_lock_fork},
};

int main(int argc, char **argv)
{
    if (argc > 1) {
        puts("usage: test-resident\n\nChecks mincore, msync, mlock; writes TAP.");
        return strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    spread_begin();
    return tap_run(tests, TAP_COUNT(tests));
}
