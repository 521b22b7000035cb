/* test-filemap: files in memory. The file is this program's own, which no system lets anybody change while it runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/tests/audit.h"
#include "userland/tests/filemap.h"
#include "userland/tests/spread.h"
#include "userland/tests/tap.h"

#define VALIDATE 3 /* MAP_SHARED_VALIDATE */
#define SYNC 0x80000
#define EACH_KIND(type) for (int type = MAP_SHARED; type <= MAP_PRIVATE; type++)

/* --- reading --- */

static void test_contents(void)
{
    EACH_KIND(type)
    {
        for (int k = 0; k < spread_count(); k++) {
            char *area;

            spread_go(k);
            area = filemap_map(0, filemap_pages, PROT_READ, type);
            for (int i = 0; i < spread_count(); i++) {
                spread_go(k + i);
                EXPECT(filemap_same(area, 0, filemap_pages), "type %d, mapped on %d, read on %d", type, k, k + i);
            }
            EXPECT(filemap_tail_zero(area), "type %d: behind the end of the file", type);
            munmap(area, filemap_pages * PAGE);
        }
    }
    spread_go(0);
}

static void test_offset(void)
{
    for (int k = 0; k < spread_count(); k++) {
        long first = 1 + k % 3, pages = filemap_pages - first;
        char *area = filemap_map(first, pages, PROT_READ, MAP_PRIVATE);

        spread_go(k + 1);
        EXPECT(filemap_same(area, first, pages), "from page %ld on", first);
        munmap(area + PAGE, PAGE);
        spread_go(k);
        EXPECT(filemap_same(area + 2 * PAGE, first + 2, pages - 2), "what lies behind a hole");
        EXPECT(!spread_readable(area + PAGE), "the hole");
        munmap(area, pages * PAGE);
    }
    spread_go(0);
}

static void test_behind_end(void)
{
    EACH_KIND(type)
    {
        for (int k = 0; k < spread_count(); k++) {
            char *area = filemap_map(0, filemap_pages + 3, PROT_READ | (type == MAP_PRIVATE ? PROT_WRITE : 0), type);

            spread_go(k);
            for (long page = filemap_pages; page < filemap_pages + 3; page++) {
                EXPECT(filemap_signal(area + page * PAGE + 5, false) == SIGBUS * 100 + 2, "page %ld read on %d", page,
                       k);
                if (type == MAP_PRIVATE)
                    EXPECT(filemap_signal(area + page * PAGE + 5, true) == SIGBUS * 100 + 2, "page %ld written on %d",
                           page, k);
                EXPECT(!spread_readable(area + page * PAGE), "page %ld: a call reads it", page);
            }
            EXPECT(filemap_same(area, 0, filemap_pages), "the pages before it");
            munmap(area, (filemap_pages + 3) * PAGE);
        }
    }
    spread_go(0);
}

static void test_close(void)
{
    int fd = filemap_open(O_RDONLY);
    char *area = mmap(NULL, filemap_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);

    close(fd);
    spread_go(1);
    EXPECT(filemap_same(area, 0, filemap_pages), "after close");
    munmap(area, filemap_pages * PAGE);
    spread_go(0);
}

static void test_populate(void)
{
    EACH_KIND(type)
    {
        char *area = filemap_map(0, filemap_pages + 1, PROT_READ | (type == MAP_PRIVATE ? PROT_WRITE : 0),
                                 type | MAP_POPULATE);
        unsigned char there[64] = {0};

        EXPECT(mincore(area, 4 * PAGE, there) == 0, "%s", strerror(errno));
        EXPECT((there[0] & there[1] & there[2] & there[3] & 1) == 1, "type %d: not all pages are there", type);
        EXPECT(filemap_same(area, 0, filemap_pages), "type %d", type);
        EXPECT(msync(area, filemap_pages * PAGE, MS_SYNC) == 0, "%s", strerror(errno));
        munmap(area, (filemap_pages + 1) * PAGE);
    }
}

static void test_calls(void)
{
    char *area = filemap_map(0, filemap_pages + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    char bytes[64] = {0};
    int fds[2], fd = filemap_open(O_RDONLY);

    spread_go(1);
    EXPECT(pipe(fds) == 0, "%s", strerror(errno));
    EXPECT(write(fds[1], area + PAGE - 16, 32) == 32 && read(fds[0], bytes, 32) == 32, "%s", strerror(errno));
    EXPECT(memcmp(bytes, filemap_bytes + PAGE - 16, 32) == 0, "a call reads something else");
    EXPECT_ERROR(write(fds[1], area + filemap_pages * PAGE, 8), EFAULT);
    EXPECT(pread(fd, area + 2 * PAGE, PAGE, 0) == PAGE, "%s", strerror(errno));
    spread_go(0);
    EXPECT(memcmp(area + 2 * PAGE, filemap_bytes, PAGE) == 0, "what a call has written");
    EXPECT(filemap_same(area, 0, 2) && filemap_same(area + 3 * PAGE, 3, filemap_pages - 3), "the rest");
    close(fds[0]);
    close(fds[1]);
    close(fd);
    munmap(area, (filemap_pages + 1) * PAGE);
}

/* --- writing --- */

/* Page i is written by kernel i; READ: after all have read it. */
static void write_pages(bool read)
{
    char *area = filemap_map(0, filemap_pages, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    char *other = filemap_map(0, filemap_pages, PROT_READ, MAP_SHARED);

    for (int k = 0; k < spread_count() && read; k++) {
        spread_go(k);
        EXPECT(filemap_same(area, 0, filemap_pages), "on %d", k);
    }
    for (long page = 0; page < filemap_pages; page++) {
        spread_go(page);
        area[page * PAGE + 100] = (char)~filemap_bytes[page * PAGE + 100];
    }
    for (int k = 0; k < spread_count(); k++) {
        spread_go(k);
        for (long page = 0; page < filemap_pages; page++) {
            EXPECT(area[page * PAGE + 100] == (char)~filemap_bytes[page * PAGE + 100], "page %ld on %d", page, k);
            EXPECT(memcmp(area + page * PAGE, filemap_bytes + page * PAGE, 100) == 0 &&
                       memcmp(area + page * PAGE + 101, filemap_bytes + page * PAGE + 101, PAGE - 101) == 0,
                   "the rest of page %ld on %d", page, k);
        }
        EXPECT(filemap_same(other, 0, filemap_pages), "the file has changed, seen from %d", k);
    }
    EXPECT(audit_own(), "the audit");
    spread_go(1);
    EXPECT(madvise(area, filemap_pages * PAGE, MADV_DONTNEED) == 0, "%s", strerror(errno));
    for (int k = 0; k < spread_count(); k++) {
        spread_go(k);
        EXPECT(filemap_same(area, 0, filemap_pages), "given up, on %d", k);
    }
    EXPECT(audit_own(), "the audit");
    munmap(area, filemap_pages * PAGE);
    munmap(other, filemap_pages * PAGE);
    spread_go(0);
}

static void test_write(void)
{
    write_pages(false);
}

static void test_read_write(void)
{
    write_pages(true);
}

static void test_protect(void)
{
    for (int k = 0; k < spread_count(); k++) {
        char *area = filemap_map(0, filemap_pages, PROT_READ, MAP_PRIVATE);

        EXPECT(filemap_signal(area + PAGE, true) == SIGSEGV * 100 + 2, "a private page that is not writable");
        spread_go(k);
        EXPECT(mprotect(area + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE) == 0, "%s", strerror(errno));
        area[PAGE + 7] = (char)~filemap_bytes[PAGE + 7];
        spread_go(k + 1);
        area[2 * PAGE + 7] = (char)~filemap_bytes[2 * PAGE + 7];
        EXPECT(area[PAGE + 7] == (char)~filemap_bytes[PAGE + 7], "what another kernel has written");
        EXPECT(mprotect(area, filemap_pages * PAGE, PROT_NONE) == 0, "%s", strerror(errno));
        EXPECT(filemap_signal(area, false) == SIGSEGV * 100 + 2, "no right");
        EXPECT(mprotect(area, filemap_pages * PAGE, PROT_READ) == 0, "%s", strerror(errno));
        spread_go(k);
        EXPECT(area[2 * PAGE + 7] == (char)~filemap_bytes[2 * PAGE + 7], "what was written has gone");
        EXPECT(filemap_same(area, 0, 1) && filemap_same(area + 3 * PAGE, 3, filemap_pages - 3), "the rest");
        munmap(area, filemap_pages * PAGE);
    }
    spread_go(0);
}

static void test_shared(void)
{
    for (int k = 0; k < spread_count(); k++) {
        char *area = filemap_map(0, filemap_pages, PROT_READ, MAP_SHARED);

        spread_go(k);
        EXPECT(filemap_signal(area + PAGE, true) == SIGSEGV * 100 + 2, "written");
        EXPECT_ERROR(mprotect(area, PAGE, PROT_READ | PROT_WRITE), EACCES);
        EXPECT(mprotect(area, PAGE, PROT_READ | PROT_EXEC) == 0, "%s", strerror(errno));
        EXPECT(madvise(area, filemap_pages * PAGE, MADV_DONTNEED) == 0, "%s", strerror(errno));
        EXPECT_ERROR(madvise(area, PAGE, MADV_REMOVE), EACCES);
        EXPECT(filemap_same(area, 0, filemap_pages), "on %d", k);
        EXPECT(audit_own(), "what a refused write has left");
        munmap(area, filemap_pages * PAGE);
    }
    spread_go(0);
}

static void test_advice(void)
{
    char *area = filemap_map(0, filemap_pages + 1, PROT_READ, MAP_PRIVATE);

    EXPECT_ERROR(madvise(area, PAGE, MADV_FREE), EINVAL);
    EXPECT_ERROR(madvise(area, PAGE, 18 /* WIPEONFORK */), EINVAL);
    EXPECT(madvise(area, filemap_pages * PAGE, 22 /* POPULATE_READ */) == 0, "%s", strerror(errno));
    EXPECT_ERROR(madvise(area + filemap_pages * PAGE, PAGE, 22), EFAULT);
    EXPECT(madvise(area, filemap_pages * PAGE, MADV_WILLNEED) == 0, "%s", strerror(errno));
    EXPECT_ERROR(mlock(area, (filemap_pages + 1) * PAGE), ENOMEM);
    munmap(area, (filemap_pages + 1) * PAGE);
}

/* --- moving --- */

static void test_grow(void)
{
    for (int k = 0; k < spread_count(); k++) {
        char *area = filemap_map(1, 1, PROT_READ, MAP_PRIVATE), *moved;

        spread_go(k);
        EXPECT(filemap_same(area, 1, 1), "on %d", k);
        area = mremap(area, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
        EXPECT(area != MAP_FAILED && filemap_same(area, 1, 2), "grown");
        moved = mmap(NULL, 8 * PAGE, PROT_NONE, PRIVATE, -1, 0);
        spread_go(k + 1);
        EXPECT(mremap(area, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == moved, "%s", strerror(errno));
        spread_go(k);
        EXPECT(filemap_same(moved, 1, 3), "moved to a place that was given");
        EXPECT(!spread_readable(area), "the old place");
        munmap(moved, 8 * PAGE);
    }
    spread_go(0);
}

static void test_move_written(void)
{
    for (int k = 0; k < spread_count(); k++) {
        char *area = filemap_map(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE), *moved;

        area[PAGE] = (char)~filemap_bytes[PAGE];
        spread_go(k);
        moved = mremap(area, 4 * PAGE, 5 * PAGE, MREMAP_MAYMOVE);
        spread_go(k + 1);
        EXPECT(moved != MAP_FAILED && moved[PAGE] == (char)~filemap_bytes[PAGE], "what was written");
        EXPECT(filemap_same(moved, 0, 1) && filemap_same(moved + 2 * PAGE, 2, 3), "the rest");
        EXPECT(madvise(moved, 5 * PAGE, MADV_DONTNEED) == 0 && filemap_same(moved, 0, 5), "given up");
        EXPECT(audit_own(), "the audit");
        munmap(moved, 5 * PAGE);
    }
    spread_go(0);
}

static void test_two_places(void)
{
    for (int k = 0; k < spread_count(); k++) {
        char *area = filemap_map(2, 2, PROT_READ, MAP_SHARED), *second;

        spread_go(k);
        second = mremap(area, 0, 3 * PAGE, MREMAP_MAYMOVE);
        EXPECT(second != MAP_FAILED && filemap_same(second, 2, 3) && filemap_same(area, 2, 2), "%s", strerror(errno));
        munmap(area, 2 * PAGE);
        munmap(second, 3 * PAGE);
    }
    spread_go(0);
}

/* --- what cannot be mapped, and /dev/zero --- */

static void expect_refused(int fd, size_t length, int prot, int flags, int error)
{
    EXPECT_ERROR((long)mmap(NULL, length, prot, flags, fd, 0), error);
}

static void test_refused(void)
{
    int fd = filemap_open(O_RDONLY), folder = open("/", O_RDONLY | O_DIRECTORY), named = filemap_open(O_PATH), fds[2];
    int null = open("/dev/null", O_RDWR), maps = open("/proc/self/maps", O_RDONLY), zero = open("/dev/zero", O_WRONLY);

    for (int k = 0; k < spread_count() && k < 2; k++) {
        spread_go(k);
        EXPECT(pipe(fds) == 0, "%s", strerror(errno));
        expect_refused(fd, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, EACCES);
        expect_refused(fd, 0, PROT_READ, MAP_SHARED, EINVAL);
        expect_refused(fd, PAGE, PROT_READ, 0, EINVAL);
        expect_refused(fd, PAGE, PROT_READ, MAP_PRIVATE | MAP_GROWSDOWN, EINVAL);
        expect_refused(fd, 1ul << 48, PROT_READ, MAP_PRIVATE, ENOMEM);
        expect_refused(fd, PAGE, PROT_READ, VALIDATE | SYNC, EOPNOTSUPP);
        EXPECT_ERROR((long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 77), EINVAL);
        EXPECT_ERROR((long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)(1ul << 63)), EOVERFLOW);
        expect_refused(-1, PAGE, PROT_READ, MAP_PRIVATE, EBADF);
        expect_refused(999, 0, PROT_READ, MAP_PRIVATE, EBADF);
        expect_refused(named, PAGE, PROT_READ, MAP_PRIVATE, EBADF);
        expect_refused(folder, PAGE, PROT_READ, MAP_PRIVATE, ENODEV);
        expect_refused(fds[0], PAGE, PROT_READ, MAP_SHARED, ENODEV);
        expect_refused(fds[1], PAGE, PROT_READ, MAP_SHARED, EACCES);
        expect_refused(null, PAGE, PROT_READ, MAP_PRIVATE, ENODEV);
        expect_refused(maps, PAGE, PROT_READ, MAP_PRIVATE, ENODEV);
        expect_refused(zero, PAGE, PROT_READ, MAP_PRIVATE, EACCES);
        close(fds[0]);
        close(fds[1]);
    }
    spread_go(0);
    close(fd);
    close(folder);
    close(named);
    close(null);
    close(maps);
    close(zero);
}

static void test_validate(void)
{
    char *area = filemap_map(0, 2, PROT_READ, VALIDATE);

    EXPECT(filemap_same(area, 0, 2), "MAP_SHARED_VALIDATE");
    munmap(area, 2 * PAGE);
}

static int child_writes(void *context)
{
    char *area = context;

    if (area[0] != 1 || area[PAGE] != 0)
        return 1;
    area[PAGE] = 2;
    return 0;
}

static void test_zero(void)
{
    int fd = open("/dev/zero", O_RDWR);

    EACH_KIND(type)
    {
        char *area = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, type, fd, 0);

        EXPECT(area != MAP_FAILED, "%s", strerror(errno));
        spread_go(1);
        area[0] = 1;
        spread_go(2);
        EXPECT(spread_child(child_writes, area) == 0, "type %d: the child", type);
        EXPECT(area[PAGE] == (type == MAP_SHARED ? 2 : 0), "type %d: what the child has written", type);
        munmap(area, 3 * PAGE);
    }
    close(fd);
    spread_go(0);
}

/* --- processes --- */

struct areas {
    char *private, *shared;
};

/* Pages of the private area: 0 and 1 written by the parent, the rest never; page 2 is the child's to write. */
static int child_looks(void *context)
{
    const struct areas *areas = context;

    spread_go(2);
    if (!filemap_same(areas->shared, 0, filemap_pages) ||
        !filemap_same(areas->private + 2 * PAGE, 2, filemap_pages - 2))
        return 1;
    if (areas->private[5] != 'p' || areas->private[PAGE + 5] != 'q')
        return 2;
    areas->private[2 * PAGE] = 'c';
    areas->private[PAGE + 5] = 'c';
    spread_go(1);
    if (areas->private[2 * PAGE] != 'c' || areas->private[PAGE + 5] != 'c')
        return 3;
    if (madvise(areas->private, filemap_pages * PAGE, MADV_DONTNEED) != 0 ||
        !filemap_same(areas->private, 0, filemap_pages))
        return 4;
    if (mprotect(areas->shared, PAGE, PROT_READ | PROT_WRITE) == 0 || errno != EACCES)
        return 5;
    return 0;
}

static void test_fork(void)
{
    for (int k = 0; k < spread_count(); k++) {
        struct areas areas = {filemap_map(0, filemap_pages, PROT_READ | PROT_WRITE, MAP_PRIVATE),
                              filemap_map(0, filemap_pages, PROT_READ, MAP_SHARED)};
        int end;

        areas.private[5] = 'p';
        spread_go(k);
        EXPECT(filemap_same(areas.shared, 0, 2), "the shared one");
        areas.private[PAGE + 5] = 'q';
        spread_go(k + 1);
        for (int round = 0; round < 2; round++) {
            end = spread_child(child_looks, &areas);
            EXPECT(end == 0, "kernel %d: %d", k, end);
            EXPECT(areas.private[5] == 'p' && areas.private[PAGE + 5] == 'q', "the parent's pages have changed");
            EXPECT(filemap_same(areas.private + 2 * PAGE, 2, filemap_pages - 2), "the others");
        }
        EXPECT(audit_own(), "the audit");
        munmap(areas.private, filemap_pages * PAGE);
        munmap(areas.shared, filemap_pages * PAGE);
    }
    spread_go(0);
}

static const struct tap_test tests[] = {
    {"a mapped file has the file's bytes on every kernel, and zeros behind its end", test_contents},
    {"a mapping may begin anywhere in a file and lose a part", test_offset},
    {"a page behind the end of a file is SIGBUS", test_behind_end},
    {"a mapping outlives its descriptor", test_close},
    {"MAP_POPULATE brings the pages that there are", test_populate},
    {"calls read and write mapped files as other memory", test_calls},
    {"what is written to a private mapping is the process's own, on every kernel", test_write},
    {"the same for pages that were read before", test_read_write},
    {"a private mapping may become writable, and keeps what was written", test_protect},
    {"a shared mapping of a file that is open for reading is never writable", test_shared},
    {"advice treats files as Linux does", test_advice},
    {"a mapping that grows goes on in the file", test_grow},
    {"a mapping that moves takes along what was written and what it is of", test_move_written},
    {"a shared mapping may be in two places", test_two_places},
    {"what cannot be mapped is refused as on Linux", test_refused},
    {"MAP_SHARED_VALIDATE shares", test_validate},
    {"/dev/zero is memory", test_zero},
    {"a child has its parent's mappings", test_fork},
    {"processes that map a file have the same pages", test_same_page},
    {"threads on all kernels that touch the pages first agree", test_race},
    {"/proc/PID/maps says what is mapped where", test_maps},
    {"exec leaves the mappings behind", test_exec},
};

int main(int argc, char **argv)
{
    spread_begin();
    filemap_begin();
    if (argc > 1)
        return filemap_child(argv[1]);
    return tap_run(tests, TAP_COUNT(tests));
}
