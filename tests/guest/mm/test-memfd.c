/* test-memfd: bytes of regular files, by calls. The files have no names, so nothing but their contents matters. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define TIB (1ll << 40)

static int make(void)
{
    int fd = memfd_create("test", 0);

    CHECK(fd >= 0, "%s", strerror(errno));
    return fd;
}

static long size_of(int fd)
{
    struct stat facts = {0};

    CHECK(fstat(fd, &facts) == 0, "%s", strerror(errno));
    return facts.st_size;
}

/* The whole of the file is TEXT. */
static bool has(int fd, const char *text)
{
    char bytes[256] = {0};
    ssize_t count = pread(fd, bytes, sizeof(bytes), 0);

    return count == (ssize_t)strlen(text) && memcmp(bytes, text, (size_t)count) == 0;
}

static void test_read_write(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char bytes[16] = {0};
        int fd = make();

        kernels_go(k);
        CHECK(write(fd, "hello", 5) == 5 && write(fd, " you", 4) == 4, "%s", strerror(errno));
        CHECK(read(fd, bytes, 8) == 0, "at the end");
        CHECK(lseek(fd, 1, SEEK_SET) == 1 && read(fd, bytes, 4) == 4 && memcmp(bytes, "ello", 4) == 0, "'%s'", bytes);
        kernels_go(k + 1);
        CHECK(lseek(fd, 0, SEEK_CUR) == 5, "the offset is the file's");
        CHECK(pwrite(fd, "J", 1, 0) == 1 && lseek(fd, 0, SEEK_CUR) == 5, "pwrite moves no offset");
        CHECK(has(fd, "Jello you"), "what was written");
        CHECK(size_of(fd) == 9, "%ld bytes", size_of(fd));
        CHECK_ERROR(pwrite(fd, "x", 1, -1), EINVAL);
        CHECK_ERROR(pread(fd, bytes, 1, -1), EINVAL);
        CHECK_ERROR(lseek(fd, -1, SEEK_SET), EINVAL);
        CHECK_ERROR(lseek(fd, 0, 99), EINVAL);
        CHECK(lseek(fd, 100, SEEK_END) == 109 && read(fd, bytes, 1) == 0, "behind the end");
        CHECK(write(fd, "z", 1) == 1 && size_of(fd) == 110, "%ld bytes", size_of(fd));
        CHECK(pread(fd, bytes, 16, 90) == 16 && bytes[0] == 0 && bytes[15] == 0, "a hole has something");
        close(fd);
    }
    kernels_go(0);
}

static void test_large(void)
{
    size_t size = 300000;
    unsigned char *out = malloc(size), *in = calloc(1, size);
    int fd = make();

    for (size_t i = 0; i < size; i++)
        out[i] = (unsigned char)(i * 7 + i / 4096);
    kernels_go(1);
    CHECK(write(fd, out, size) == (ssize_t)size, "%s", strerror(errno));
    kernels_go(2);
    CHECK(pread(fd, in, size, 0) == (ssize_t)size && memcmp(in, out, size) == 0, "other bytes come back");
    CHECK(pwrite(fd, out + 1, 100000, 5000) == 100000, "%s", strerror(errno));
    CHECK(pread(fd, in, 100000, 5000) == 100000 && memcmp(in, out + 1, 100000) == 0, "not on page boundaries");
    kernels_go(0);
    close(fd);
    free(out);
    free(in);
}

static void test_append(void)
{
    int fd = make();
    char bytes[8] = {0};

    CHECK(write(fd, "abc", 3) == 3, "%s", strerror(errno));
    CHECK(fcntl(fd, F_SETFL, O_APPEND) == 0, "%s", strerror(errno));
    kernels_go(1);
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && write(fd, "de", 2) == 2 && has(fd, "abcde"), "an append");
    CHECK(lseek(fd, 0, SEEK_CUR) == 5, "the offset is behind it");
    CHECK(pwrite(fd, "f", 1, 0) == 1 && has(fd, "abcdef"), "pwrite appends, too, as on Linux");
    CHECK(pread(fd, bytes, 3, 1) == 3 && memcmp(bytes, "bcd", 3) == 0, "reads are not moved");
    kernels_go(0);
    close(fd);
}

static void test_vectors(void)
{
    int fd = make();
    char a[3] = {0}, b[5] = {0};
    struct iovec out[2] = {{"one", 3}, {"three", 5}}, in[2] = {{a, 3}, {b, 5}};

    kernels_go(1);
    CHECK(pwritev(fd, out, 2, 2) == 8 && size_of(fd) == 10, "%s", strerror(errno));
    CHECK(preadv(fd, in, 2, 2) == 8 && memcmp(a, "one", 3) == 0 && memcmp(b, "three", 5) == 0, "%s", strerror(errno));
    CHECK_ERROR(preadv(fd, in, 2, -1), EINVAL);
    CHECK(syscall(SYS_pwritev2, fd, out, 1, -1l, 0l, 16 /* RWF_APPEND */) == 3 && size_of(fd) == 13, "RWF_APPEND: %s",
          strerror(errno));
    CHECK(lseek(fd, 0, SEEK_CUR) == 13, "the offset");
    CHECK(syscall(SYS_pwritev2, fd, out, 1, 0l, 0l, 2 | 4) == 3 && pread(fd, a, 3, 0) == 3 && memcmp(a, "one", 3) == 0,
          "RWF_DSYNC, RWF_SYNC");
    CHECK_ERROR(syscall(SYS_preadv2, fd, in, 1, 0l, 0l, 0x4000), EOPNOTSUPP);
    CHECK_ERROR(syscall(SYS_preadv2, fd, in, 1, -2l, 0l, 0), EINVAL);
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && syscall(SYS_preadv2, fd, in, 2, -1l, 0l, 0) == 8, "at the offset");
    CHECK(lseek(fd, 0, SEEK_CUR) == 8, "which moves");
    kernels_go(0);
    close(fd);
}

static void test_truncate(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char bytes[8];
        int fd = make(), fds[2];

        kernels_go(k);
        CHECK(write(fd, "abcdef", 6) == 6, "%s", strerror(errno));
        CHECK(ftruncate(fd, 3) == 0 && has(fd, "abc"), "%s", strerror(errno));
        CHECK(ftruncate(fd, 8) == 0 && pread(fd, bytes, 8, 0) == 8 && memcmp(bytes, "abc\0\0\0\0\0", 8) == 0,
              "what was cut off is back");
        CHECK(lseek(fd, 0, SEEK_CUR) == 6, "the offset stays");
        CHECK(ftruncate(fd, 5 * TIB) == 0 && size_of(fd) == 5 * TIB, "%s", strerror(errno));
        CHECK(pread(fd, bytes, 8, 5 * TIB - 4) == 4 && bytes[0] == 0, "its last bytes");
        CHECK(ftruncate(fd, 0) == 0 && size_of(fd) == 0, "%s", strerror(errno));
        CHECK_ERROR(ftruncate(fd, -1), EINVAL);
        CHECK_ERROR(ftruncate(-1, 0), EBADF);
        CHECK(pipe(fds) == 0, "%s", strerror(errno));
        CHECK_ERROR(ftruncate(fds[1], 0), EINVAL);
        CHECK_ERROR(ftruncate(fds[0], 0), EINVAL);
        close(fds[0]);
        close(fds[1]);
        close(fd);
    }
    kernels_go(0);
}

static void test_holes(void)
{
    int fd = make();
    struct stat facts = {0};
    char byte = 1;

    CHECK(pwrite(fd, "x", 1, 3 * TIB) == 1, "%s", strerror(errno));
    CHECK(pwrite(fd, "y", 1, 16 * PAGE) == 1, "%s", strerror(errno));
    kernels_go(1);
    CHECK(lseek(fd, 0, SEEK_DATA) == 16 * PAGE, "data at %lld", (long long)lseek(fd, 0, SEEK_DATA));
    CHECK(lseek(fd, 16 * PAGE, SEEK_HOLE) == 17 * PAGE, "a hole at %lld", (long long)lseek(fd, 16 * PAGE, SEEK_HOLE));
    CHECK(lseek(fd, 17 * PAGE, SEEK_DATA) == 3 * TIB, "data at %lld", (long long)lseek(fd, 17 * PAGE, SEEK_DATA));
    CHECK(lseek(fd, 3 * TIB, SEEK_HOLE) == 3 * TIB + 1, "the end is a hole");
    CHECK(lseek(fd, 5, SEEK_HOLE) == 5, "in a hole");
    CHECK_ERROR(lseek(fd, 3 * TIB + 1, SEEK_DATA), ENXIO);
    CHECK_ERROR(lseek(fd, 3 * TIB + 1, SEEK_HOLE), ENXIO);
    CHECK_ERROR(lseek(fd, -1, SEEK_DATA), ENXIO);
    CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 16 * PAGE, PAGE) == 0, "%s", strerror(errno));
    CHECK(lseek(fd, 0, SEEK_DATA) == 3 * TIB, "the hole is not one");
    CHECK(pread(fd, &byte, 1, 16 * PAGE) == 1 && byte == 0, "a punched page has %d", byte);
    CHECK(size_of(fd) == 3 * TIB + 1, "the size");
    CHECK(fstat(fd, &facts) == 0 && facts.st_mode == (S_IFREG | 0777), "mode %o", facts.st_mode);
    kernels_go(0);
    close(fd);
}

static void test_allocate(void)
{
    int fd = make(), only = -1, fds[2];
    char bytes[4] = {1, 1, 1, 1};

    kernels_go(1);
    CHECK(fallocate(fd, 0, 0, 3 * PAGE) == 0 && size_of(fd) == 3 * PAGE, "%s", strerror(errno));
    CHECK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 9 * PAGE) == 0 && size_of(fd) == 3 * PAGE, "%s", strerror(errno));
    CHECK(lseek(fd, 0, SEEK_HOLE) == 3 * PAGE, "all of it is data");
    CHECK(pwrite(fd, "abcd", 4, 100) == 4, "%s", strerror(errno));
    CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 101, 2) == 0, "%s", strerror(errno));
    CHECK(pread(fd, bytes, 4, 100) == 4 && memcmp(bytes, "a\0\0d", 4) == 0, "a part of a page");
    CHECK_ERROR(fallocate(fd, 0, 0, 0), EINVAL);
    CHECK_ERROR(fallocate(fd, 0, -1, 1), EINVAL);
    CHECK_ERROR(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 1), EOPNOTSUPP);
    CHECK_ERROR(fallocate(fd, 0x100, 0, 1), EOPNOTSUPP);
    CHECK_ERROR(fallocate(fd, 0, INT64_MAX, 1), EFBIG);
    CHECK_ERROR(fallocate(-1, 0, 0, 1), EBADF);
    CHECK(pipe(fds) == 0, "%s", strerror(errno));
    CHECK_ERROR(fallocate(fds[1], 0, 0, 1), ESPIPE);
    CHECK_ERROR(fallocate(fds[0], 0, 0, 1), EBADF);
    CHECK_ERROR(posix_fadvise(fd, 0, 0, 99) == EINVAL ? (errno = EINVAL, -1) : 0, EINVAL);
    CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL) == 0, "fadvise");
    CHECK(posix_fadvise(fds[0], 0, 0, 0) == ESPIPE, "of a pipe");
    CHECK(readahead(fd, 0, 100) == 0, "%s", strerror(errno));
    CHECK_ERROR(readahead(fds[0], 0, 1), EINVAL);
    CHECK(fsync(fd) == 0 && fdatasync(fd) == 0, "%s", strerror(errno));
    CHECK_ERROR(fsync(fds[0]), EINVAL);
    CHECK_ERROR(fsync(only), EBADF);
    close(fds[0]);
    close(fds[1]);
    close(fd);
    kernels_go(0);
}

static void test_sendfile(void)
{
    int from = make(), to = make(), fds[2];
    char bytes[16] = {0};
    off_t at = 2, out = 1;

    CHECK(write(from, "0123456789", 10) == 10 && pipe(fds) == 0, "%s", strerror(errno));
    kernels_go(1);
    CHECK(sendfile(to, from, &at, 4) == 4 && at == 6 && has(to, "2345"), "%s", strerror(errno));
    CHECK(lseek(from, 7, SEEK_SET) == 7 && sendfile(to, from, NULL, 100) == 3, "%s", strerror(errno));
    CHECK(has(to, "2345789") && lseek(from, 0, SEEK_CUR) == 10, "to the end");
    CHECK(sendfile(to, from, NULL, 100) == 0, "at the end");
    at = 0;
    CHECK(sendfile(fds[1], from, &at, 3) == 3 && read(fds[0], bytes, 16) == 3 && memcmp(bytes, "012", 3) == 0,
          "to a pipe");
    CHECK_ERROR(sendfile(to, fds[0], NULL, 1), EINVAL);
    CHECK_ERROR(sendfile(to, fds[0], &at, 1), ESPIPE);
    CHECK_ERROR(sendfile(fds[0], from, &at, 1), EBADF);
    at = -1;
    CHECK_ERROR(sendfile(to, from, &at, 1), EINVAL);
    at = 8;
    CHECK(syscall(SYS_copy_file_range, from, &at, to, &out, 5l, 0) == 2 && at == 10 && out == 3, "%s", strerror(errno));
    CHECK(has(to, "2895789"), "a copied range");
    CHECK_ERROR(syscall(SYS_copy_file_range, from, &at, to, &out, 5l, 1), EINVAL);
    at = 0;
    CHECK_ERROR(syscall(SYS_copy_file_range, to, &at, to, &out, 4l, 0), EINVAL);
    CHECK_ERROR(syscall(SYS_copy_file_range, fds[0], NULL, to, &out, 4l, 0), EINVAL);
    CHECK(fcntl(to, F_SETFL, O_APPEND) == 0, "%s", strerror(errno));
    CHECK_ERROR(syscall(SYS_copy_file_range, from, &at, to, &out, 4l, 0), EBADF);
    CHECK_ERROR(sendfile(to, from, &at, 1), EINVAL);
    kernels_go(0);
    close(fds[0]);
    close(fds[1]);
    close(from);
    close(to);
}

static void test_seals(void)
{
    int fd = memfd_create("sealed", MFD_ALLOW_SEALING | MFD_CLOEXEC), plain = make();

    kernels_go(1);
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "MFD_CLOEXEC");
    CHECK(fcntl(fd, F_GET_SEALS) == 0 && fcntl(plain, F_GET_SEALS) == F_SEAL_SEAL, "at first");
    CHECK_ERROR(fcntl(plain, F_ADD_SEALS, F_SEAL_GROW), EPERM);
    CHECK(write(fd, "abcd", 4) == 4, "%s", strerror(errno));
    CHECK_ERROR(fcntl(fd, F_ADD_SEALS, 0x100), EINVAL);
    CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0, "%s", strerror(errno));
    CHECK_ERROR(ftruncate(fd, 1), EPERM);
    CHECK(ftruncate(fd, 6) == 0, "%s", strerror(errno));
    CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0, "%s", strerror(errno));
    CHECK_ERROR(ftruncate(fd, 7), EPERM);
    CHECK_ERROR(pwrite(fd, "x", 1, 6), EPERM);
    CHECK(pwrite(fd, "xyz", 3, 3) == 3, "%s", strerror(errno));
    CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) == 0, "%s", strerror(errno));
    CHECK_ERROR(pwrite(fd, "x", 1, 0), EPERM);
    CHECK_ERROR(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1), EPERM);
    CHECK_ERROR(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
    CHECK(fcntl(fd, F_GET_SEALS) == (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), "all");
    CHECK_ERROR(memfd_create("x", 0x100), EINVAL);
    CHECK_ERROR(memfd_create((const char *)TAP_UNMAPPED, 0), EFAULT);
    CHECK(fcntl(plain, F_GETFD) == 0, "without MFD_CLOEXEC");
    kernels_go(0);
    close(fd);
    close(plain);
}

static void test_space(void)
{
    int fd = make();

    CHECK(pwrite(fd, "a", 1, (1ll << 50) - 1) == 1, "the last byte of 1 PiB: %s", strerror(errno));
    CHECK(size_of(fd) == 1ll << 50, "the size");
    if (tap_on_kettle()) {
        CHECK_ERROR(pwrite(fd, "a", 1, 1ll << 50), EFBIG);
        CHECK_ERROR(ftruncate(fd, (1ll << 50) + 1), EFBIG);
    }
    close(fd);
}

/* --- many at once --- */

#define RECORD 24
#define RECORDS 60

struct appends {
    int fd;
    struct thread threads[KERNELS_MAX];
};

static void append_records(struct thread *thread)
{
    struct appends *appends = thread->argument;
    char record[RECORD];

    thread_move(thread->index);
    for (int i = 0; i < RECORDS; i++) {
        memset(record, 'A' + thread->index, RECORD - 1);
        record[RECORD - 1] = (char)i;
        if (x86_syscall3(SYS_write, appends->fd, (long)record, RECORD) != RECORD)
            atomic_store(&thread->result, 1);
    }
}

/* Threads of all kernels append records to one file: each is there once, whole, in its thread's order. */
static void test_appends(void)
{
    static struct appends appends;
    int count = kernels_count(), next[KERNELS_MAX] = {0};
    char record[RECORD];

    appends.fd = make();
    CHECK(fcntl(appends.fd, F_SETFL, O_APPEND) == 0, "%s", strerror(errno));
    for (int i = 0; i < count; i++) {
        appends.threads[i] = (struct thread){.index = i, .argument = &appends};
        CHECK(thread_start(&appends.threads[i], append_records), "%s", strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        CHECK(thread_join(&appends.threads[i]), "thread %d", i);
        CHECK(appends.threads[i].result == 0, "a write of thread %d", i);
    }
    CHECK(size_of(appends.fd) == (long)count * RECORD * RECORDS, "%ld bytes", size_of(appends.fd));
    for (long at = 0; at < (long)count * RECORD * RECORDS; at += RECORD) {
        int who;

        CHECK(pread(appends.fd, record, RECORD, at) == RECORD, "%s", strerror(errno));
        who = record[0] - 'A';
        if (!CHECK(who >= 0 && who < count && record[RECORD - 1] == next[who], "the record at %ld", at))
            break;
        next[who]++;
        for (int i = 1; i < RECORD - 1; i++)
            CHECK(record[i] == record[0], "the record at %ld is mixed", at);
    }
    close(appends.fd);
}

static int child_writes(void *context)
{
    int fd = *(int *)context;

    kernels_go(1);
    if (write(fd, "child", 5) != 5)
        return 1;
    return size_of(fd) == 11 ? 0 : 2;
}

static void test_fork(void)
{
    int fd = make();

    CHECK(write(fd, "parent", 6) == 6, "%s", strerror(errno));
    CHECK(tap_fork(child_writes, &fd) == 0, "the child");
    CHECK(has(fd, "parentchild") && lseek(fd, 0, SEEK_CUR) == 11, "the offset is shared");
    close(fd);
}

/* --- against a plain array --- */

#define SPAN (40 * PAGE)

static void random_steps(uint64_t seed)
{
    static char model[SPAN + 3 * PAGE], bytes[3 * PAGE], back[SPAN + 3 * PAGE];
    int fd = make();
    long size = 0;

    memset(model, 0, sizeof(model));
    for (int step = 0; step < 120; step++) {
        long at = (long)(tap_random(&seed) % SPAN), length = (long)(tap_random(&seed) % sizeof(bytes));

        kernels_go((int)(tap_random(&seed) % (uint64_t)kernels_count()));
        switch (tap_random(&seed) % 5) {
        case 0:
        case 1:
            memset(bytes, (int)tap_random(&seed), (size_t)length);
            CHECK(pwrite(fd, bytes, (size_t)length, at) == length, "%s", strerror(errno));
            memcpy(model + at, bytes, (size_t)length);
            if (length > 0 && at + length > size)
                size = at + length;
            break;
        case 2:
            CHECK(ftruncate(fd, at) == 0, "%s", strerror(errno));
            if (at < size)
                memset(model + at, 0, (size_t)(size - at));
            size = at;
            break;
        case 3:
            if (length > 0)
                CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, length) == 0, "%s",
                      strerror(errno));
            memset(model + at, 0, (size_t)length);
            break;
        default:
            CHECK(pread(fd, back, sizeof(back), 0) == size && memcmp(back, model, (size_t)size) == 0, "step %d", step);
        }
    }
    CHECK(pread(fd, back, sizeof(back), 0) == size && memcmp(back, model, (size_t)size) == 0, "at last");
    kernels_go(0);
    close(fd);
}

static void test_random(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        random_steps(seed);
}

#define REMOVERS 4
#define REMOVED (4 * REMOVERS + 1) /* pages: four of each process, and one of all */

/* Writes its own pages and makes some of them holes, with MADV_REMOVE, from all kernels. Returns 0, or what is wrong.
 */
static int remove_pages(int fd, int index)
{
    long first = 4l * index;
    uint64_t seed = (uint64_t)index + 1;
    char *map = NULL;

    for (int step = 0; step < 64; step++) {
        long count = 1 + (long)(tap_random(&seed) % 4);
        char byte = 1;

        if (step % 8 == 0) {
            if (map != NULL)
                munmap(map, REMOVED * PAGE);
            map = mmap(NULL, REMOVED * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (map == MAP_FAILED)
                return 1;
        }
        kernels_go((long)(tap_random(&seed) % KERNELS_MAX));
        memset(map + first * PAGE, 7, 4 * PAGE);
        map[(REMOVED - 1) * PAGE] = 1;
        kernels_go((long)(tap_random(&seed) % KERNELS_MAX));
        if (madvise(map + first * PAGE, (size_t)(count * PAGE), MADV_REMOVE) != 0 ||
            madvise(map + (REMOVED - 1) * PAGE, PAGE, MADV_REMOVE) != 0)
            return 2;
        for (long page = 0; page < 4; page++) {
            if (map[(first + page) * PAGE + 5] != (page < count ? 0 : 7))
                return 3;
        }
        if (pread(fd, &byte, 1, first * PAGE) != 1 || byte != 0)
            return 4;
    }
    return audit_own() ? 0 : 5;
}

static void test_remove(void)
{
    pid_t children[REMOVERS];
    int fd = make();

    CHECK(ftruncate(fd, REMOVED * PAGE) == 0, "%s", strerror(errno));
    for (int i = 0; i < REMOVERS; i++) {
        children[i] = FORK();
        if (children[i] == 0)
            _exit(remove_pages(fd, i));
    }
    for (int i = 0; i < REMOVERS; i++)
        CHECK_EXITS(children[i], 0);
    CHECK(size_of(fd) == REMOVED * PAGE, "the size is %ld", size_of(fd));
    close(fd);
}

static const struct tap_test tests[] = {
    {"read-write", "a file has what was written, and its offset is the same on every kernel", test_read_write},
    {"large", "large reads and writes are whole", test_large},
    {"append", "O_APPEND writes to the end", test_append},
    {"vectors", "preadv2 and pwritev2 transfer vectors at an offset and honour their flags", test_vectors},
    {"truncate", "a file that gets shorter, and longer again, has zeros there", test_truncate},
    {"holes", "holes read as zeros, use no memory, and are found by SEEK_HOLE", test_holes},
    {"remove", "MADV_REMOVE makes holes while other processes do the same from all kernels", test_remove},
    {"allocate", "fallocate, fadvise, readahead and fsync do what Linux documents", test_allocate},
    {"sendfile", "sendfile and copy_file_range copy between files", test_sendfile},
    {"seals", "seals refuse what they forbid", test_seals},
    {"space", "a file has at most 1 PiB", test_space},
    {"appends", "appends of threads on all kernels are whole, and none is lost", test_appends},
    {"fork", "a child has the same open file", test_fork},
    {"random", "random operations from all kernels leave the bytes that an array has", test_random},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
