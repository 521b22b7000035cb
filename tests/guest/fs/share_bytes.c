/* test-share: bytes of files, from all kernels, one after the other and at once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/fs/share.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define CREW 8
#define RECORDS 60
#define RECORD 100
#define PART 40000
#define FAR (5l << 30) /* behind what 32 bits can say */

void share_test_bytes(void)
{
    static const size_t sizes[] = {1, 4095, 4096, 61440, 61441, 200001};

    for (size_t i = 0; i < TAP_COUNT(sizes); i++) {
        size_t size = sizes[i];
        int fd;

        share_fill(share_bytes, size, i);
        kernels_go((long)i);
        fd = open("bytes", O_RDWR | O_CREAT | O_TRUNC, 0640);
        CHECK(fd >= 0, "%s", strerror(errno));
        CHECK(write(fd, share_bytes, size) == (ssize_t)size, "%zu bytes: %s", size, strerror(errno));
        for (int k = 0; k < kernels_count(); k++) {
            struct stat facts;

            kernels_go(k);
            memset(share_others, 0, size);
            CHECK(pread(fd, share_others, sizeof(share_others), 0) == (ssize_t)size &&
                      memcmp(share_bytes, share_others, size) == 0,
                  "%zu bytes on kernel %d", size, k);
            CHECK(lseek(fd, 0, SEEK_CUR) == (off_t)size && read(fd, share_others, 10) == 0, "the end, on kernel %d", k);
            CHECK(stat("bytes", &facts) == 0 && facts.st_size == (off_t)size && (facts.st_mode & 07777) == 0640,
                  "size %ld, mode %o", (long)facts.st_size, facts.st_mode);
        }
        close(fd);
    }
    CHECK(unlink("bytes") == 0, "%s", strerror(errno));
}

void share_test_offsets(void)
{
    struct stat facts;
    int fd = open("far", O_RDWR | O_CREAT | O_EXCL, 0600);
    char c = 0;

    CHECK(fd >= 0, "%s", strerror(errno));
    kernels_go(1);
    CHECK(pwrite(fd, "end", 3, FAR) == 3, "%s", strerror(errno));
    kernels_go(2);
    CHECK(fstat(fd, &facts) == 0 && facts.st_size == FAR + 3, "size %ld", (long)facts.st_size);
    CHECK(lseek(fd, -1, SEEK_END) == FAR + 2 && read(fd, &c, 1) == 1 && c == 'd', "the last byte: %d", c);
    CHECK(pread(fd, share_others, 3, FAR - 1) == 3 && memcmp(share_others, "\0en", 3) == 0, "around it");
    CHECK(pread(fd, share_others, 4, 1l << 31) == 4 && memcmp(share_others, "\0\0\0\0", 4) == 0, "a hole");
    CHECK(ftruncate(fd, 10) == 0 && fstat(fd, &facts) == 0 && facts.st_size == 10, "%s", strerror(errno));
    CHECK(pread(fd, share_others, 4, FAR) == 0, "what is cut off is gone");
    CHECK_ERROR(lseek(fd, -1, SEEK_SET), EINVAL);
    CHECK_ERROR(pread(fd, share_others, 1, -1), EINVAL);
    close(fd);
    CHECK(truncate("far", 0) == 0 && stat("far", &facts) == 0 && facts.st_size == 0, "%s", strerror(errno));
    CHECK(unlink("far") == 0, "%s", strerror(errno));
    kernels_go(0);
}

void share_test_flags(void)
{
    int fd = open("flags", O_WRONLY | O_CREAT | O_EXCL, 0600), append;
    struct stat facts;

    CHECK(fd >= 0 && write(fd, "12345", 5) == 5, "%s", strerror(errno));
    kernels_go(1);
    CHECK_ERROR(open("flags", O_WRONLY | O_CREAT | O_EXCL, 0600), EEXIST);
    CHECK_ERROR(open("flags/", O_RDONLY), ENOTDIR);
    CHECK_ERROR(open("flags", O_RDONLY | O_DIRECTORY), ENOTDIR);
    CHECK_ERROR(open("none", O_RDONLY), ENOENT);
    CHECK_ERROR(open(".", O_WRONLY), EISDIR);
    CHECK_ERROR(read(fd, share_others, 1), EBADF);
    append = open("flags", O_RDWR | O_APPEND);
    kernels_go(2);
    CHECK(write(fd, "67", 2) == 2 && write(append, "8", 1) == 1 && lseek(append, 0, SEEK_CUR) == 8, "appended");
    CHECK(pread(append, share_others, 10, 0) == 8 && memcmp(share_others, "12345678", 8) == 0, "%.8s", share_others);
    CHECK(fcntl(append, F_SETFL, 0) == 0 && pwrite(append, "x", 1, 0) == 1, "no append any more");
    CHECK(fcntl(fd, F_SETFL, O_APPEND) == 0 && write(fd, "9", 1) == 1, "but now the other");
    CHECK(pread(append, share_others, 10, 0) == 9 && memcmp(share_others, "x23456789", 9) == 0, "%.9s", share_others);
    close(append);
    append = open("flags", O_WRONLY | O_TRUNC);
    CHECK(fstat(fd, &facts) == 0 && facts.st_size == 0, "%ld bytes", (long)facts.st_size);
    CHECK(chmod("flags", 0444) == 0 && fstat(fd, &facts) == 0 && (facts.st_mode & 0777) == 0444, "%o", facts.st_mode);
    CHECK(fsync(fd) == 0 && fdatasync(fd) == 0, "%s", strerror(errno));
    close(append);
    close(fd);
    CHECK(unlink("flags") == 0, "%s", strerror(errno));
    kernels_go(0);
}

void share_test_unlinked(void)
{
    int fd = open("gone", O_RDWR | O_CREAT, 0600);

    kernels_go(1);
    CHECK(unlink("gone") == 0, "%s", strerror(errno));
    CHECK_ERROR(open("gone", O_RDONLY), ENOENT);
    kernels_go(2);
    CHECK(write(fd, "still", 5) == 5 && pread(fd, share_others, 8, 0) == 5 && memcmp(share_others, "still", 5) == 0,
          "%s", strerror(errno));
    close(fd);
    kernels_go(0);
}

/* --- many at once --- */

struct crew {
    struct thread threads[CREW];
    int fds[CREW];
    long wrong[CREW]; /* line of the first thing that must not be, or 0 */
};

static struct crew crew;

static void run_crew(void (*run)(struct thread *))
{
    for (int i = 0; i < CREW; i++) {
        crew.threads[i] = (struct thread){.index = i, .argument = &crew};
        crew.wrong[i] = 0;
        CHECK(thread_start(&crew.threads[i], run), "%s", strerror(errno));
    }
    for (int i = 0; i < CREW; i++) {
        CHECK(thread_join(&crew.threads[i]), "thread %d", i);
        CHECK(crew.wrong[i] == 0, "thread %d: line %ld", i, crew.wrong[i]);
    }
}

static void make_record(char *record, int me, int number)
{
    memset(record, 'a' + me, RECORD);
    record[0] = (char)('0' + number / 10);
    record[1] = (char)('0' + number % 10);
    record[RECORD - 1] = '\n';
}

static void append_records(struct thread *thread)
{
    struct crew *c = thread->argument;
    char record[RECORD];

    for (int i = 0; i < RECORDS && c->wrong[thread->index] == 0; i++) {
        if (i % 20 == 0)
            kernels_go(thread->index + i / 20);
        make_record(record, thread->index, i);
        if (x86_syscall3(SYS_write, c->fds[thread->index], (long)record, RECORD) != RECORD)
            c->wrong[thread->index] = __LINE__;
    }
}

/* Each in its own open file, or all in one. */
static void append_all(bool one)
{
    int next[CREW] = {0};
    char record[RECORD];
    int fd;

    for (int i = 0; i < CREW; i++)
        crew.fds[i] = one && i > 0 ? crew.fds[0] : open("log", O_WRONLY | O_CREAT | (one ? 0 : O_APPEND), 0600);
    run_crew(append_records);
    fd = open("log", O_RDONLY);
    CHECK(read(fd, share_bytes, sizeof(share_bytes)) == CREW * RECORDS * RECORD, "the log has another size");
    for (int i = 0; i < CREW * RECORDS; i++) {
        int who = share_bytes[i * RECORD + 2] - 'a';

        if (!CHECK(who >= 0 && who < CREW, "record %d is damaged", i))
            break;
        make_record(record, who, next[who]++);
        CHECK(memcmp(share_bytes + (long)i * RECORD, record, RECORD) == 0, "record %d is not the next of thread %d", i,
              who);
    }
    close(fd);
    for (int i = 0; i < (one ? 1 : CREW); i++)
        close(crew.fds[i]);
    CHECK(unlink("log") == 0, "%s", strerror(errno));
}

void share_test_appends(void)
{
    append_all(false);
    append_all(true);
}

static void write_own(struct thread *thread)
{
    struct crew *c = thread->argument;
    char name[] = "own-0", part[512];
    uint64_t seed = (uint64_t)thread->index;
    long fd;

    name[4] = (char)('0' + thread->index);
    kernels_go(thread->index);
    fd = x86_syscall3(SYS_open, (long)name, O_RDWR | O_CREAT | O_EXCL, 0600);
    for (long at = 0; at < PART; at += (long)sizeof(part)) {
        for (size_t i = 0; i < sizeof(part); i++)
            part[i] = (char)tap_random(&seed);
        if (x86_syscall(SYS_pwrite64, fd, (long)part, sizeof(part), at, 0, 0) != sizeof(part))
            c->wrong[thread->index] = __LINE__;
    }
    if (x86_syscall1(SYS_close, fd) != 0)
        c->wrong[thread->index] = __LINE__;
}

void share_test_writers(void)
{
    run_crew(write_own);
    for (int i = 0; i < CREW; i++) {
        char name[16];
        size_t size = (PART + 511) / 512 * 512;
        int fd;

        snprintf(name, sizeof(name), "own-%d", i);
        kernels_go(i + 1);
        fd = open(name, O_RDONLY);
        share_fill(share_bytes, size, (uint64_t)i);
        CHECK(read(fd, share_others, sizeof(share_others)) == (ssize_t)size &&
                  memcmp(share_bytes, share_others, size) == 0,
              "%s", name);
        close(fd);
        CHECK(unlink(name) == 0, "%s", strerror(errno));
    }
    kernels_go(0);
}
