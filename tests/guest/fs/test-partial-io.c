/* test-partial-io: reads and writes over memory of which the end is bad, from every kernel. Nothing is lost: what does
 * not reach the program stays where it was, where Linux lets it stay. The same on Linux. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"

#define PAGES 3
#define WORDS 50000l /* that one process writes and another reads */
#define MANY 5000l   /* bytes of a write */

static char *end; /* of memory that can be used */

static bool begin(void)
{
    char *area = spread_memory_map(PAGES + 1, PRIVATE);

    if (!CHECK(area != NULL && munmap(area + PAGES * PAGE, PAGE) == 0, "%s", strerror(errno)))
        return false;
    end = area + PAGES * PAGE;
    return true;
}

static int left(int fd)
{
    int count = -1;

    ioctl(fd, FIONREAD, &count);
    return count;
}

static void fill(char *to, size_t size, int seed)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (char)(i * 7 + (size_t)seed);
}

static bool holds(const char *bytes, size_t size, int seed, size_t from)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != (char)((i + from) * 7 + (size_t)seed))
            return false;
    }
    return true;
}

static void test_file(void)
{
    char bytes[3 * PAGE], back[3 * PAGE];
    int fd = memfd_create("partly", 0);

    if (!CHECK(fd >= 0, "%s", strerror(errno)) || !begin())
        return;
    for (int kernel = 0; kernel < kernels_count(); kernel++) {
        ssize_t count;

        kernels_go(kernel);
        CHECK(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0, "%s", strerror(errno));
        fill(end - PAGE - 77, PAGE + 77, kernel);
        count = write(fd, end - PAGE - 77, 3 * PAGE);
        CHECK(count == PAGE + 77 && lseek(fd, 0, SEEK_CUR) == PAGE + 77, "%ld written", (long)count);
        CHECK(pread(fd, back, sizeof(back), 0) == PAGE + 77 && holds(back, PAGE + 77, kernel, 0), "other bytes");
        fill(bytes, sizeof(bytes), kernel);
        CHECK(pwrite(fd, bytes, sizeof(bytes), 0) == sizeof(bytes), "%s", strerror(errno));
        CHECK(lseek(fd, 10, SEEK_SET) == 10, "%s", strerror(errno));
        count = read(fd, end - PAGE - 5, 2 * PAGE);
        CHECK(count == PAGE + 5 && holds(end - PAGE - 5, PAGE + 5, kernel, 10), "%ld read", (long)count);
        CHECK(lseek(fd, 0, SEEK_CUR) == PAGE + 15, "at %ld", (long)lseek(fd, 0, SEEK_CUR));
        CHECK_ERROR(read(fd, end, 1), EFAULT);
        CHECK(lseek(fd, 0, SEEK_END) == 3 * PAGE && read(fd, end, 1) == 0, "not the end");
    }
    kernels_go(0);
    close(fd);
}

/* The bytes of such a file are made when it is opened, and stay what they are. */
static void test_made(void)
{
    char whole[PAGE];

    if (!begin())
        return;
    for (int kernel = 0; kernel < kernels_count(); kernel++) {
        ssize_t size, count;
        int fd;

        kernels_go(kernel);
        fd = open("/proc/self/status", O_RDONLY);
        size = pread(fd, whole, sizeof(whole), 0);
        CHECK(size > 300, "%ld: %s", (long)size, strerror(errno));
        count = read(fd, end - 100, 2 * PAGE);
        CHECK(count == 100 && memcmp(end - 100, whole, 100) == 0, "%ld read", (long)count);
        CHECK(lseek(fd, 0, SEEK_CUR) == 100, "at %ld", (long)lseek(fd, 0, SEEK_CUR));
        CHECK_ERROR(read(fd, end, 1), EFAULT);
        CHECK(lseek(fd, 0, SEEK_CUR) == 100, "at %ld", (long)lseek(fd, 0, SEEK_CUR));
        count = pread(fd, end - 50, 51, 60);
        CHECK(count == 50 && memcmp(end - 50, whole + 60, 50) == 0, "%ld read", (long)count);
        CHECK(pread(fd, end, 1, 3 * PAGE) == 0, "not the end");
        close(fd);
    }
    kernels_go(0);
}

/* Bytes between the entries may have any value. */
static bool same_entries(const char *one, const char *other, long size)
{
    for (long at = 0; at < size;) {
        const struct dirent *a = (const struct dirent *)(const void *)(one + at); /* as the call's */
        const struct dirent *b = (const struct dirent *)(const void *)(other + at);

        if (a->d_reclen != b->d_reclen || a->d_reclen == 0 || a->d_ino != b->d_ino || strcmp(a->d_name, b->d_name) != 0)
            return false;
        at += a->d_reclen;
    }
    return true;
}

/* The whole listing has SIZE bytes at WHOLE; a part of it fits. */
static void check_listing(int fd, const char *whole, long size)
{
    char rest[2 * PAGE] __attribute__((aligned(8)));
    long first;

    CHECK(lseek(fd, 0, SEEK_SET) == 0, "%s", strerror(errno));
    CHECK_ERROR(syscall(SYS_getdents64, fd, end, PAGE), EFAULT);
    CHECK_ERROR(syscall(SYS_getdents64, fd, end - 10, PAGE), EFAULT);
    first = syscall(SYS_getdents64, fd, end - 104, PAGE);
    if (!CHECK(first > 0 && first <= 104 && same_entries(end - 104, whole, first), "%ld: %s", first, tap_error(errno)))
        return;
    CHECK(syscall(SYS_getdents64, fd, rest, sizeof(rest)) == size - first, "entries are missing");
    CHECK(same_entries(rest, whole + first, size - first), "other entries");
    CHECK(syscall(SYS_getdents64, fd, end, PAGE) == 0, "not the end");
}

static void test_listing(void)
{
    static const char *const names[] = {"/", "/proc/self/fd"};
    char whole[2 * PAGE] __attribute__((aligned(8)));

    if (!begin())
        return;
    for (int i = 0; i < 2 * kernels_count(); i++) {
        int fd = open(names[i % 2], O_RDONLY | O_DIRECTORY);
        long size;

        kernels_go(i / 2);
        size = syscall(SYS_getdents64, fd, whole, sizeof(whole));
        if (CHECK(size > 100, "%s: %ld", names[i % 2], size))
            check_listing(fd, whole, size);
        close(fd);
    }
    kernels_go(0);
}

static void test_pipe(void)
{
    char bytes[2 * PAGE], back[3 * PAGE];
    int ends[2];

    if (!CHECK(pipe2(ends, O_NONBLOCK) == 0, "%s", strerror(errno)) || !begin())
        return;
    for (int kernel = 0; kernel < kernels_count(); kernel++) {
        kernels_go(kernel);
        CHECK_ERROR(read(ends[0], end - 3, 5), EAGAIN);
        CHECK_ERROR(write(ends[1], end - 3, 5), EFAULT);
        CHECK_ERROR(write(ends[1], end - 1000, 1001), EFAULT);
        fill(end - PAGE - 5, PAGE + 5, kernel);
        CHECK(write(ends[1], end - PAGE - 5, 2 * PAGE) == PAGE, "%s", strerror(errno));
        CHECK(read(ends[0], back, sizeof(back)) == PAGE && holds(back, PAGE, kernel, 0), "other bytes");
        fill(bytes, sizeof(bytes), kernel);
        CHECK(write(ends[1], bytes, sizeof(bytes)) == sizeof(bytes), "%s", strerror(errno));
        CHECK_ERROR(read(ends[0], end - 500, 600), EFAULT);
        CHECK(left(ends[0]) == 2 * PAGE, "%d left", left(ends[0]));
        CHECK(read(ends[0], end - PAGE - 30, 3 * PAGE) == PAGE, "%s", strerror(errno));
        CHECK(holds(end - PAGE - 30, PAGE, kernel, 0), "other bytes");
        CHECK(read(ends[0], end - PAGE, 3 * PAGE) == PAGE, "%s", strerror(errno));
        CHECK(holds(end - PAGE, PAGE, kernel, PAGE), "other bytes");
    }
    kernels_go(0);
    close(ends[0]);
    close(ends[1]);
}

static void test_sockets(void)
{
    char bytes[2000];
    int type = SOCK_STREAM, ends[2];

    if (!begin())
        return;
    for (int kernel = 0; kernel < 2 * kernels_count(); kernel++, type ^= SOCK_STREAM ^ SOCK_SEQPACKET) {
        bool stream = type == SOCK_STREAM;

        kernels_go(kernel / 2);
        if (!CHECK(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, ends) == 0, "%s", strerror(errno)))
            return;
        CHECK_ERROR(write(ends[1], end - 3, 5), EFAULT);
        fill(bytes, sizeof(bytes), kernel);
        CHECK(write(ends[1], bytes, 1500) == 1500, "%s", strerror(errno));
        CHECK_ERROR(recv(ends[0], end - 3, 1500, MSG_PEEK), EFAULT);
        CHECK_ERROR(read(ends[0], end - 1499, 1500), EFAULT);
        CHECK(left(ends[0]) == (stream ? 1500 : 0), "%d left", left(ends[0]));
        CHECK(recv(ends[0], end - 1500, 1501, 0) == (stream ? 1500 : -1), "%s", strerror(errno));
        CHECK(!stream || holds(end - 1500, 1500, kernel, 0), "other bytes");
        close(ends[0]);
        close(ends[1]);
    }
    kernels_go(0);
}

static int write_words(int fd)
{
    uint32_t words[MANY / sizeof(uint32_t)];
    uint32_t next = 0;

    kernels_go(1);
    while (next < WORDS) {
        char *at = (char *)words;
        size_t rest = sizeof(words);

        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            words[i] = next++;
        while (rest > 0) {
            ssize_t count = write(fd, at, rest);

            if (count <= 0)
                return 1;
            at += count;
            rest -= (size_t)count;
        }
    }
    return 0;
}

/* Reads what write_words writes, with room for less than is asked for. Returns how many words came in their order. */
static uint32_t read_words(int fd, long *faults)
{
    uint64_t random = 1;
    uint32_t next = 0;
    size_t kept = 0; /* bytes of a word that has begun */
    char word[2 * sizeof(uint32_t)];

    for (;;) {
        size_t room = 1 + tap_random(&random) % (PAGES * PAGE);
        ssize_t count = read(fd, end - room, room + tap_random(&random) % PAGE);

        if (count < 0 && errno == EFAULT)
            ++*faults;
        else if (count <= 0)
            return next;
        for (ssize_t i = 0; i < count; i++) {
            uint32_t value;

            word[kept++] = *(end - room + i);
            if (kept < sizeof(value))
                continue;
            kept = 0;
            memcpy(&value, word, sizeof(value));
            if (value != next)
                return next;
            next++;
        }
    }
}

static void nothing_lost(int from, int to)
{
    long faults = 0;
    int status = -1;
    uint32_t words;
    pid_t child;

    if (!begin())
        return;
    child = fork();
    if (child == 0) {
        close(from);
        _exit(write_words(to));
    }
    close(to);
    kernels_go(2);
    words = read_words(from, &faults);
    close(from);
    kernels_go(0);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "status %x", status);
    CHECK(words >= WORDS, "only %u words came in order", words);
    CHECK(faults > 0, "no read was refused");
}

static void test_pipe_stream(void)
{
    int ends[2];

    if (CHECK(pipe(ends) == 0, "%s", strerror(errno)))
        nothing_lost(ends[0], ends[1]);
}

static void test_socket_stream(void)
{
    int ends[2];

    if (CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "%s", strerror(errno)))
        nothing_lost(ends[0], ends[1]);
}

static const struct tap_test tests[] = {
    {"file", "a transfer of a file ends where memory ends, and the offset counts what was transferred", test_file},
    {"made", "a read of a file of /proc ends where memory ends, too", test_made},
    {"listing", "a directory gives the entries that fit, and keeps the others", test_listing},
    {"pipe", "a pipe transfers whole pages, and keeps what it could not deliver", test_pipe},
    {"sockets", "a stream keeps what did not fit into memory, and a message is lost", test_sockets},
    {"pipe-stream", "nothing is lost or doubled of what goes through a pipe to memory that ends", test_pipe_stream},
    {"socket-stream", "nothing is lost or doubled of what goes through a socket to memory that ends",
     test_socket_stream},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
