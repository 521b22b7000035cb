/* test-resident: mincore, msync, mlock and its kin, of pages that several kernels have touched. */
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
#include "userland/x86.h"

#define PAGES 100l

static unsigned char there[PAGES];

/* How many of the pages have a frame; -1 after a note. */
static int resident(char *area, long pages)
{
    int count = 0;

    if (!CHECK(mincore(area, (size_t)(pages * PAGE), there) == 0, "%s", strerror(errno)))
        return -1;
    for (long page = 0; page < pages; page++)
        count += there[page] & 1;
    return count;
}

static void test_mincore(void)
{
    static const int types[] = {PRIVATE, SHARED};

    for (size_t i = 0; i < TAP_COUNT(types); i++) {
        for (int k = 0; k < kernels_count(); k++) {
            char *area = spread_memory_map(PAGES, types[i]);

            kernels_go(k);
            CHECK(resident(area, PAGES) == 0, "kernel %d: pages nobody has touched", k);
            spread_memory_fill(area, 30, 70, 1);
            kernels_go(k);
            CHECK(resident(area, PAGES) == 40, "kernel %d: %d of 40", k, resident(area, PAGES));
            for (long page = 0; page < PAGES; page++)
                CHECK((there[page] & 1) == (page >= 30 && page < 70), "kernel %d: page %ld", k, page);
            CHECK(mprotect(area, PAGES * PAGE, PROT_NONE) == 0, "%s", strerror(errno));
            CHECK(resident(area, PAGES) == 40, "kernel %d: without access", k);
            munmap(area, PAGES * PAGE);
        }
    }
    kernels_go(0);
}

static void test_mincore_errors(void)
{
    char *area = spread_memory_map(PAGES, PRIVATE);

    kernels_go(1);
    spread_memory_fill(area, 0, PAGES, 2);
    CHECK_ERROR(mincore(area + 1, PAGE, there), EINVAL);
    CHECK_ERROR(syscall(SYS_mincore, area, -1l, there), ENOMEM);
    CHECK_ERROR(syscall(SYS_mincore, TAP_KERNEL_ADDRESS, PAGE, there), ENOMEM);
    CHECK_ERROR(syscall(SYS_mincore, TAP_UNMAPPED, PAGE, there), ENOMEM);
    CHECK_ERROR(syscall(SYS_mincore, area, PAGE, TAP_UNMAPPED), EFAULT);
    CHECK_ERROR(syscall(SYS_mincore, area, PAGE, TAP_KERNEL_ADDRESS), EFAULT);
    CHECK(mincore(area, 0, there) == 0, "nothing: %s", strerror(errno));
    CHECK(munmap(area + 50 * PAGE, PAGE) == 0, "%s", strerror(errno));
    memset(there, 9, sizeof(there));
    CHECK_ERROR(mincore(area, PAGES * PAGE, there), ENOMEM);
    CHECK(there[0] == 1 && there[49] == 1 && there[50] == 9, "what is before the hole");
    munmap(area, PAGES * PAGE);
    kernels_go(0);
}

static void test_msync(void)
{
    static const int types[] = {PRIVATE, SHARED};

    for (size_t i = 0; i < TAP_COUNT(types); i++) {
        char *area = spread_memory_map(PAGES, types[i]);

        spread_memory_fill(area, 0, PAGES, 3);
        for (int flags = 0; flags < 4; flags++) {
            kernels_go(flags);
            CHECK(msync(area, PAGES * PAGE, flags) == 0, "%d: %s", flags, strerror(errno));
        }
        CHECK(msync(area, PAGES * PAGE, MS_SYNC | MS_INVALIDATE) == 0, "%s", strerror(errno));
        CHECK_ERROR(msync(area, PAGE, MS_SYNC | MS_ASYNC), EINVAL);
        CHECK_ERROR(msync(area, PAGE, 8), EINVAL);
        CHECK_ERROR(msync(area + 1, PAGE, MS_SYNC), EINVAL);
        CHECK_ERROR(syscall(SYS_msync, area, -PAGE, MS_SYNC), ENOMEM);
        CHECK(msync(area, 0, MS_SYNC) == 0 && msync(TAP_UNMAPPED, 0, MS_SYNC) == 0, "%s", strerror(errno));
        CHECK_ERROR(msync(TAP_UNMAPPED, PAGE, MS_SYNC), ENOMEM);
        CHECK_ERROR(msync(TAP_KERNEL_ADDRESS, PAGE, MS_SYNC), ENOMEM);
        CHECK(mlock(area + PAGE, PAGE) == 0, "%s", strerror(errno));
        CHECK_ERROR(msync(area, PAGES * PAGE, MS_INVALIDATE), EBUSY);
        CHECK(msync(area, PAGES * PAGE, MS_ASYNC) == 0, "%s", strerror(errno));
        CHECK(munmap(area + 5 * PAGE, PAGE) == 0, "%s", strerror(errno));
        CHECK_ERROR(msync(area, PAGES * PAGE, MS_ASYNC), ENOMEM);
        munmap(area, PAGES * PAGE);
    }
    kernels_go(0);
}

static void test_mlock(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = spread_memory_map(PAGES, PRIVATE);

        spread_memory_fill(area, 0, 10, 4);
        kernels_go(k);
        CHECK(mlock(area + 5 * PAGE + 7, 20 * PAGE) == 0, "%s", strerror(errno));
        CHECK(resident(area, PAGES) == 26, "kernel %d: %d", k, resident(area, PAGES));
        CHECK(spread_memory_holds(area, 0, 10, 4) && spread_memory_holds(area, 10, 26, 0), "the pages are others");
        CHECK(syscall(SYS_mlock2, area + 50 * PAGE, 10 * PAGE, 1) == 0, "%s", strerror(errno));
        CHECK(syscall(SYS_mlock2, area + 70 * PAGE, 10 * PAGE, 0) == 0, "%s", strerror(errno));
        CHECK(resident(area, PAGES) == 36 && (there[50] & 1) == 0, "kernel %d: on fault", k);
        CHECK_ERROR(madvise(area + 55 * PAGE, PAGE, MADV_DONTNEED), EINVAL);
        CHECK(munlock(area, PAGES * PAGE) == 0, "%s", strerror(errno));
        CHECK(madvise(area, PAGES * PAGE, MADV_DONTNEED) == 0, "%s", strerror(errno));
        munmap(area, PAGES * PAGE);
    }
    kernels_go(0);
}

static void test_mlock_errors(void)
{
    char *area = spread_memory_map(PAGES, PRIVATE), *none = mmap(NULL, PAGE, PROT_NONE, PRIVATE, -1, 0);

    kernels_go(1);
    CHECK_ERROR(syscall(SYS_mlock, area, -PAGE), EINVAL);
    CHECK(mlock(area, 0) == 0 && munlock(area, 0) == 0, "nothing: %s", strerror(errno));
    CHECK_ERROR(syscall(SYS_mlock2, area, PAGE, 2), EINVAL);
    CHECK_ERROR(mlock(TAP_UNMAPPED, PAGE), ENOMEM);
    CHECK_ERROR(munlock(TAP_UNMAPPED, PAGE), ENOMEM);
    CHECK_ERROR(mlock(TAP_KERNEL_ADDRESS, PAGE), ENOMEM);
    CHECK_ERROR(mlock(none, PAGE), ENOMEM);
    CHECK(munmap(area + 50 * PAGE, PAGE) == 0, "%s", strerror(errno));
    CHECK_ERROR(mlock(area, PAGES * PAGE), ENOMEM);
    CHECK_ERROR(munlock(area, PAGES * PAGE), ENOMEM);
    CHECK_ERROR(mlockall(0), EINVAL);
    CHECK_ERROR(mlockall(8), EINVAL);
    CHECK_ERROR(mlockall(4), EINVAL);
    munmap(area, PAGES * PAGE);
    munmap(none, PAGE);
    kernels_go(0);
}

static int lock_all(void *context)
{
    char *area = spread_memory_map(PAGES, PRIVATE), *later;

    kernels_go(1);
    if (mlockall(MCL_CURRENT) != 0 || resident(area, PAGES) != PAGES)
        return 1;
    if (madvise(area, PAGE, MADV_DONTNEED) != -1 || errno != EINVAL)
        return 2;
    later = mmap(NULL, PAGES * PAGE, READ_WRITE, PRIVATE, -1, 0);
    if (resident(later, PAGES) != 0)
        return 3;
    kernels_go(2);
    if (mlockall(MCL_FUTURE) != 0 || resident(later, PAGES) != 0)
        return 4;
    kernels_go(1);
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
    int end = tap_fork(lock_all, NULL);

    CHECK(end == 0, "%d", end);
}

static int not_locked(void *context)
{
    return madvise(context, PAGE, MADV_DONTNEED) == 0 ? 0 : 1;
}

static void test_lock_fork(void)
{
    char *area = spread_memory_map(PAGES, PRIVATE), *moved;

    CHECK(mlock(area, 2 * PAGE) == 0, "%s", strerror(errno));
    CHECK(tap_fork(not_locked, area) == 0, "a child's memory is locked");
    kernels_go(1);
    moved = mremap(area, 2 * PAGE, 10 * PAGE, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED && resident(moved, 10) == 10, "what grows is filled: %s", strerror(errno));
    CHECK_ERROR(madvise(moved, PAGE, MADV_DONTNEED), EINVAL);
    munmap(moved, 10 * PAGE);
    munmap(area, PAGES * PAGE);
    kernels_go(0);
}

static const struct tap_test tests[] = {
    {"mincore", "mincore finds the pages that any kernel has touched", test_mincore},
    {"mincore-errors", "mincore refuses what Linux refuses", test_mincore_errors},
    {"msync", "msync checks its arguments", test_msync},
    {"mlock", "mlock fills pages and munlock releases them", test_mlock},
    {"mlock-errors", "mlock refuses what Linux refuses", test_mlock_errors},
    {"lock-all", "mlockall locks what is mapped, or what is mapped later", test_lock_all},
    {"lock-fork", "a lock is not inherited, and a locked mapping grows locked", test_lock_fork},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
