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

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/filemap.h"

#define VALIDATE 3 /* MAP_SHARED_VALIDATE */
#define SYNC 0x80000
#define EACH_KIND(type) for (int type = MAP_SHARED; type <= MAP_PRIVATE; type++)

/* --- reading --- */

static void test_contents(void)
{
    EACH_KIND(type)
    {
        for (int k = 0; k < kernels_count(); k++) {
            char *area;

            kernels_go(k);
            area = filemap_map(0, filemap_pages, PROT_READ, type);
            for (int i = 0; i < kernels_count(); i++) {
                kernels_go(k + i);
                CHECK(filemap_same(area, 0, filemap_pages), "type %d, mapped on %d, read on %d", type, k, k + i);
            }
            CHECK(filemap_tail_zero(area), "type %d: behind the end of the file", type);
            munmap(area, filemap_pages * PAGE);
        }
    }
    kernels_go(0);
}

static void test_offset(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        long first = 1 + k % 3, pages = filemap_pages - first;
        char *area = filemap_map(first, pages, PROT_READ, MAP_PRIVATE);

        kernels_go(k + 1);
        CHECK(filemap_same(area, first, pages), "from page %ld on", first);
        munmap(area + PAGE, PAGE);
        kernels_go(k);
        CHECK(filemap_same(area + 2 * PAGE, first + 2, pages - 2), "what lies behind a hole");
        CHECK(!memory_readable(area + PAGE), "the hole");
        munmap(area, pages * PAGE);
    }
    kernels_go(0);
}

static void test_behind_end(void)
{
    EACH_KIND(type)
    {
        for (int k = 0; k < kernels_count(); k++) {
            char *area = filemap_map(0, filemap_pages + 3, PROT_READ | (type == MAP_PRIVATE ? PROT_WRITE : 0), type);

            kernels_go(k);
            for (long page = filemap_pages; page < filemap_pages + 3; page++) {
                CHECK(filemap_signal(area + page * PAGE + 5, false) == SIGBUS * 100 + 2, "page %ld read on %d", page,
                      k);
                if (type == MAP_PRIVATE)
                    CHECK(filemap_signal(area + page * PAGE + 5, true) == SIGBUS * 100 + 2, "page %ld written on %d",
                          page, k);
                CHECK(!memory_readable(area + page * PAGE), "page %ld: a call reads it", page);
            }
            CHECK(filemap_same(area, 0, filemap_pages), "the pages before it");
            munmap(area, (filemap_pages + 3) * PAGE);
        }
    }
    kernels_go(0);
}

static void test_close(void)
{
    int fd = filemap_open(O_RDONLY);
    char *area = mmap(NULL, filemap_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);

    close(fd);
    kernels_go(1);
    CHECK(filemap_same(area, 0, filemap_pages), "after close");
    munmap(area, filemap_pages * PAGE);
    kernels_go(0);
}

static void test_populate(void)
{
    EACH_KIND(type)
    {
        char *area = filemap_map(0, filemap_pages + 1, PROT_READ | (type == MAP_PRIVATE ? PROT_WRITE : 0),
                                 type | MAP_POPULATE);
        unsigned char there[64] = {0};

        CHECK(mincore(area, 4 * PAGE, there) == 0, "%s", strerror(errno));
        CHECK((there[0] & there[1] & there[2] & there[3] & 1) == 1, "type %d: not all pages are there", type);
        CHECK(filemap_same(area, 0, filemap_pages), "type %d", type);
        CHECK(msync(area, filemap_pages * PAGE, MS_SYNC) == 0, "%s", strerror(errno));
        munmap(area, (filemap_pages + 1) * PAGE);
    }
}

static void test_calls(void)
{
    char *area = filemap_map(0, filemap_pages + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    char bytes[64] = {0};
    int fds[2], fd = filemap_open(O_RDONLY);

    kernels_go(1);
    CHECK(pipe(fds) == 0, "%s", strerror(errno));
    CHECK(write(fds[1], area + PAGE - 16, 32) == 32 && read(fds[0], bytes, 32) == 32, "%s", strerror(errno));
    CHECK(memcmp(bytes, filemap_bytes + PAGE - 16, 32) == 0, "a call reads something else");
    CHECK_ERROR(write(fds[1], area + filemap_pages * PAGE, 8), EFAULT);
    CHECK(pread(fd, area + 2 * PAGE, PAGE, 0) == PAGE, "%s", strerror(errno));
    kernels_go(0);
    CHECK(memcmp(area + 2 * PAGE, filemap_bytes, PAGE) == 0, "what a call has written");
    CHECK(filemap_same(area, 0, 2) && filemap_same(area + 3 * PAGE, 3, filemap_pages - 3), "the rest");
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

    for (int k = 0; k < kernels_count() && read; k++) {
        kernels_go(k);
        CHECK(filemap_same(area, 0, filemap_pages), "on %d", k);
    }
    for (long page = 0; page < filemap_pages; page++) {
        kernels_go(page);
        area[page * PAGE + 100] = (char)~filemap_bytes[page * PAGE + 100];
    }
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        for (long page = 0; page < filemap_pages; page++) {
            CHECK(area[page * PAGE + 100] == (char)~filemap_bytes[page * PAGE + 100], "page %ld on %d", page, k);
            CHECK(memcmp(area + page * PAGE, filemap_bytes + page * PAGE, 100) == 0 &&
                      memcmp(area + page * PAGE + 101, filemap_bytes + page * PAGE + 101, PAGE - 101) == 0,
                  "the rest of page %ld on %d", page, k);
        }
        CHECK(filemap_same(other, 0, filemap_pages), "the file has changed, seen from %d", k);
    }
    CHECK(audit_own(), "the audit");
    kernels_go(1);
    CHECK(madvise(area, filemap_pages * PAGE, MADV_DONTNEED) == 0, "%s", strerror(errno));
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(filemap_same(area, 0, filemap_pages), "given up, on %d", k);
    }
    CHECK(audit_own(), "the audit");
    munmap(area, filemap_pages * PAGE);
    munmap(other, filemap_pages * PAGE);
    kernels_go(0);
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
    for (int k = 0; k < kernels_count(); k++) {
        char *area = filemap_map(0, filemap_pages, PROT_READ, MAP_PRIVATE);

        CHECK(filemap_signal(area + PAGE, true) == SIGSEGV * 100 + 2, "a private page that is not writable");
        kernels_go(k);
        CHECK(mprotect(area + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE) == 0, "%s", strerror(errno));
        area[PAGE + 7] = (char)~filemap_bytes[PAGE + 7];
        kernels_go(k + 1);
        area[2 * PAGE + 7] = (char)~filemap_bytes[2 * PAGE + 7];
        CHECK(area[PAGE + 7] == (char)~filemap_bytes[PAGE + 7], "what another kernel has written");
        CHECK(mprotect(area, filemap_pages * PAGE, PROT_NONE) == 0, "%s", strerror(errno));
        CHECK(filemap_signal(area, false) == SIGSEGV * 100 + 2, "no right");
        CHECK(mprotect(area, filemap_pages * PAGE, PROT_READ) == 0, "%s", strerror(errno));
        kernels_go(k);
        CHECK(area[2 * PAGE + 7] == (char)~filemap_bytes[2 * PAGE + 7], "what was written has gone");
        CHECK(filemap_same(area, 0, 1) && filemap_same(area + 3 * PAGE, 3, filemap_pages - 3), "the rest");
        munmap(area, filemap_pages * PAGE);
    }
    kernels_go(0);
}

static void test_shared(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = filemap_map(0, filemap_pages, PROT_READ, MAP_SHARED);

        kernels_go(k);
        CHECK(filemap_signal(area + PAGE, true) == SIGSEGV * 100 + 2, "written");
        CHECK_ERROR(mprotect(area, PAGE, PROT_READ | PROT_WRITE), EACCES);
        CHECK(mprotect(area, PAGE, PROT_READ | PROT_EXEC) == 0, "%s", strerror(errno));
        CHECK(madvise(area, filemap_pages * PAGE, MADV_DONTNEED) == 0, "%s", strerror(errno));
        CHECK_ERROR(madvise(area, PAGE, MADV_REMOVE), EACCES);
        CHECK(filemap_same(area, 0, filemap_pages), "on %d", k);
        CHECK(audit_own(), "what a refused write has left");
        munmap(area, filemap_pages * PAGE);
    }
    kernels_go(0);
}

static void test_advice(void)
{
    char *area = filemap_map(0, filemap_pages + 1, PROT_READ, MAP_PRIVATE);

    CHECK_ERROR(madvise(area, PAGE, MADV_FREE), EINVAL);
    CHECK_ERROR(madvise(area, PAGE, 18 /* WIPEONFORK */), EINVAL);
    CHECK(madvise(area, filemap_pages * PAGE, 22 /* POPULATE_READ */) == 0, "%s", strerror(errno));
    CHECK_ERROR(madvise(area + filemap_pages * PAGE, PAGE, 22), EFAULT);
    CHECK(madvise(area, filemap_pages * PAGE, MADV_WILLNEED) == 0, "%s", strerror(errno));
    CHECK_ERROR(mlock(area, (filemap_pages + 1) * PAGE), ENOMEM);
    munmap(area, (filemap_pages + 1) * PAGE);
}

/* --- moving --- */

static void test_grow(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = filemap_map(1, 1, PROT_READ, MAP_PRIVATE), *moved;

        kernels_go(k);
        CHECK(filemap_same(area, 1, 1), "on %d", k);
        area = mremap(area, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
        CHECK(area != MAP_FAILED && filemap_same(area, 1, 2), "grown");
        moved = mmap(NULL, 8 * PAGE, PROT_NONE, PRIVATE, -1, 0);
        kernels_go(k + 1);
        CHECK(mremap(area, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == moved, "%s", strerror(errno));
        kernels_go(k);
        CHECK(filemap_same(moved, 1, 3), "moved to a place that was given");
        CHECK(!memory_readable(area), "the old place");
        munmap(moved, 8 * PAGE);
    }
    kernels_go(0);
}

static void test_move_written(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = filemap_map(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE), *moved;

        area[PAGE] = (char)~filemap_bytes[PAGE];
        kernels_go(k);
        moved = mremap(area, 4 * PAGE, 5 * PAGE, MREMAP_MAYMOVE);
        kernels_go(k + 1);
        CHECK(moved != MAP_FAILED && moved[PAGE] == (char)~filemap_bytes[PAGE], "what was written");
        CHECK(filemap_same(moved, 0, 1) && filemap_same(moved + 2 * PAGE, 2, 3), "the rest");
        CHECK(madvise(moved, 5 * PAGE, MADV_DONTNEED) == 0 && filemap_same(moved, 0, 5), "given up");
        CHECK(audit_own(), "the audit");
        munmap(moved, 5 * PAGE);
    }
    kernels_go(0);
}

static void test_two_places(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = filemap_map(2, 2, PROT_READ, MAP_SHARED), *second;

        kernels_go(k);
        second = mremap(area, 0, 3 * PAGE, MREMAP_MAYMOVE);
        CHECK(second != MAP_FAILED && filemap_same(second, 2, 3) && filemap_same(area, 2, 2), "%s", strerror(errno));
        munmap(area, 2 * PAGE);
        munmap(second, 3 * PAGE);
    }
    kernels_go(0);
}

/* --- what cannot be mapped, and /dev/zero --- */

static void expect_refused(int fd, size_t length, int prot, int flags, int error)
{
    CHECK_ERROR((long)mmap(NULL, length, prot, flags, fd, 0), error);
}

static void test_refused(void)
{
    int fd = filemap_open(O_RDONLY), directory = open("/", O_RDONLY | O_DIRECTORY), named = filemap_open(O_PATH),
        fds[2];
    int null = open("/dev/null", O_RDWR), maps = open("/proc/self/maps", O_RDONLY), zero = open("/dev/zero", O_WRONLY);

    for (int k = 0; k < kernels_count() && k < 2; k++) {
        kernels_go(k);
        CHECK(pipe(fds) == 0, "%s", strerror(errno));
        expect_refused(fd, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, EACCES);
        expect_refused(fd, 0, PROT_READ, MAP_SHARED, EINVAL);
        expect_refused(fd, PAGE, PROT_READ, 0, EINVAL);
        expect_refused(fd, PAGE, PROT_READ, MAP_PRIVATE | MAP_GROWSDOWN, EINVAL);
        expect_refused(fd, 1ul << 48, PROT_READ, MAP_PRIVATE, ENOMEM);
        expect_refused(fd, PAGE, PROT_READ, VALIDATE | SYNC, EOPNOTSUPP);
        CHECK_ERROR((long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 77), EINVAL);
        CHECK_ERROR((long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)(1ul << 63)), EOVERFLOW);
        expect_refused(-1, PAGE, PROT_READ, MAP_PRIVATE, EBADF);
        expect_refused(999, 0, PROT_READ, MAP_PRIVATE, EBADF);
        expect_refused(named, PAGE, PROT_READ, MAP_PRIVATE, EBADF);
        expect_refused(directory, PAGE, PROT_READ, MAP_PRIVATE, ENODEV);
        expect_refused(fds[0], PAGE, PROT_READ, MAP_SHARED, ENODEV);
        expect_refused(fds[1], PAGE, PROT_READ, MAP_SHARED, EACCES);
        expect_refused(null, PAGE, PROT_READ, MAP_PRIVATE, ENODEV);
        expect_refused(maps, PAGE, PROT_READ, MAP_PRIVATE, ENODEV);
        expect_refused(zero, PAGE, PROT_READ, MAP_PRIVATE, EACCES);
        close(fds[0]);
        close(fds[1]);
    }
    kernels_go(0);
    close(fd);
    close(directory);
    close(named);
    close(null);
    close(maps);
    close(zero);
}

static void test_validate(void)
{
    char *area = filemap_map(0, 2, PROT_READ, VALIDATE);

    CHECK(filemap_same(area, 0, 2), "MAP_SHARED_VALIDATE");
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

        CHECK(area != MAP_FAILED, "%s", strerror(errno));
        kernels_go(1);
        area[0] = 1;
        kernels_go(2);
        CHECK(tap_fork(child_writes, area) == 0, "type %d: the child", type);
        CHECK(area[PAGE] == (type == MAP_SHARED ? 2 : 0), "type %d: what the child has written", type);
        munmap(area, 3 * PAGE);
    }
    close(fd);
    kernels_go(0);
}

/* --- processes --- */

struct areas {
    char *private, *shared;
};

/* Pages of the private area: 0 and 1 written by the parent, the rest never; page 2 is the child's to write. */
static int child_looks(void *context)
{
    const struct areas *areas = context;

    kernels_go(2);
    if (!filemap_same(areas->shared, 0, filemap_pages) ||
        !filemap_same(areas->private + 2 * PAGE, 2, filemap_pages - 2))
        return 1;
    if (areas->private[5] != 'p' || areas->private[PAGE + 5] != 'q')
        return 2;
    areas->private[2 * PAGE] = 'c';
    areas->private[PAGE + 5] = 'c';
    kernels_go(1);
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
    for (int k = 0; k < kernels_count(); k++) {
        struct areas areas = {filemap_map(0, filemap_pages, PROT_READ | PROT_WRITE, MAP_PRIVATE),
                              filemap_map(0, filemap_pages, PROT_READ, MAP_SHARED)};
        int end;

        areas.private[5] = 'p';
        kernels_go(k);
        CHECK(filemap_same(areas.shared, 0, 2), "the shared one");
        areas.private[PAGE + 5] = 'q';
        kernels_go(k + 1);
        for (int round = 0; round < 2; round++) {
            end = tap_fork(child_looks, &areas);
            CHECK(end == 0, "kernel %d: %d", k, end);
            CHECK(areas.private[5] == 'p' && areas.private[PAGE + 5] == 'q', "the parent's pages have changed");
            CHECK(filemap_same(areas.private + 2 * PAGE, 2, filemap_pages - 2), "the others");
        }
        CHECK(audit_own(), "the audit");
        munmap(areas.private, filemap_pages * PAGE);
        munmap(areas.shared, filemap_pages * PAGE);
    }
    kernels_go(0);
}

static const struct tap_test tests[] = {
    {"contents", "a mapped file has the file's bytes on every kernel, and zeros beyond its end", test_contents},
    {"offset", "a mapping may begin at any page of a file and be unmapped in part", test_offset},
    {"behind-end", "touching a page beyond the end of a file is SIGBUS", test_behind_end},
    {"close", "a mapping outlives its descriptor", test_close},
    {"populate", "MAP_POPULATE maps the pages that the file has", test_populate},
    {"calls", "system calls read and write mapped files as other memory", test_calls},
    {"write", "what is written to a private mapping is the process's own, on every kernel", test_write},
    {"read-write", "pages of a private mapping that were read before can be written as well", test_read_write},
    {"protect", "a private mapping may become writable, and keeps what is written", test_protect},
    {"shared", "a shared mapping of a file that is open for reading is never writable", test_shared},
    {"advice", "madvise treats mapped files as on Linux", test_advice},
    {"grow", "a mapping that grows continues in the file", test_grow},
    {"move-written", "a mapping that moves keeps what was written and its file", test_move_written},
    {"two-places", "a shared mapping may be in two places", test_two_places},
    {"refused", "invalid mappings of files are refused as on Linux", test_refused},
    {"validate", "MAP_SHARED_VALIDATE shares as MAP_SHARED", test_validate},
    {"zero", "a mapping of /dev/zero is anonymous memory", test_zero},
    {"fork", "a child has its parent's mappings", test_fork},
    {"same-page", "processes that map a file have the same frames", filemap_test_same_page},
    {"race", "threads on all kernels that touch pages first at once see the same contents", filemap_test_race},
    {"maps", "/proc/PID/maps lists the mappings with their files", filemap_test_maps},
    {"exec", "exec removes the mappings", filemap_test_exec},
};

int main(int argc, char **argv)
{
    kernels_find();
    filemap_begin();
    if (argc > 1 && argv[1][0] == '@')
        return filemap_child(argv[1] + 1);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
