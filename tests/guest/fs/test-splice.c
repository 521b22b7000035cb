/* test-splice: splice, tee and vmsplice, with pipes, files and who calls on any kernels. The same on Linux.
 *
 * Long because it is a list: every test is short and stands alone. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/fs/splice.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

#define NONBLOCK SPLICE_F_NONBLOCK
#define ROOM 65536

static volatile sig_atomic_t broken_pipes, alarms;

static void on_broken(int number)
{
    (void)number;
    broken_pipes++;
}

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

bool splice_pipe(int ends[2], int flags)
{
    return CHECK(pipe2(ends, flags) == 0, "%s", strerror(errno));
}

void splice_close(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

static int memory_file(const char *text)
{
    int fd = memfd_create("splice", MFD_ALLOW_SEALING);

    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && lseek(fd, 0, SEEK_SET) == 0, "%s",
          strerror(errno));
    return fd;
}

/* FD gives exactly TEXT now. */
static void expect_text(int fd, const char *text)
{
    char got[64] = "";
    ssize_t count = read(fd, got, sizeof(got) - 1);

    CHECK(count == (ssize_t)strlen(text) && strcmp(got, text) == 0, "%ld bytes: '%s', not '%s'", (long)count, got,
          text);
}

static int waiting_bytes(int fd)
{
    int count = -1;

    ioctl(fd, FIONREAD, &count);
    return count;
}

/* --- one thread --- */

static void test_refusals(void)
{
    int a[2], b[2], file = memory_file("text"), event = eventfd(1, 0), directory = open("/", O_RDONLY);
    int memory = open("/proc/self/mem", O_RDWR);
    loff_t wrong = -1, zero = 0, far = 10;
    struct iovec part = {TAP_UNMAPPED, 3};

    if (!splice_pipe(a, 0) || !splice_pipe(b, 0))
        return;
    CHECK(splice(-1, NULL, -1, NULL, 0, ~0u) == 0, "nothing to move: %s", strerror(errno));
    CHECK_ERROR(splice(-1, NULL, -1, NULL, 1, ~0u), EINVAL);
    CHECK_ERROR(splice(-1, NULL, a[1], NULL, 1, 0), EBADF);
    CHECK_ERROR(splice(a[0], NULL, 999, NULL, 1, 0), EBADF);
    CHECK_ERROR(splice(a[1], NULL, b[0], NULL, 1, NONBLOCK), EBADF);
    CHECK_ERROR(splice(a[0], NULL, a[1], NULL, 1, NONBLOCK), EINVAL);
    CHECK_ERROR(splice(file, NULL, file, NULL, 1, 0), EINVAL);
    CHECK_ERROR(splice(a[0], &zero, file, NULL, 1, NONBLOCK), ESPIPE);
    CHECK_ERROR(splice(file, NULL, a[1], &zero, 1, NONBLOCK), ESPIPE);
    CHECK_ERROR(splice(file, &wrong, a[1], NULL, 1, NONBLOCK), EINVAL);
    CHECK_ERROR(splice(file, TAP_UNMAPPED, a[1], NULL, 1, NONBLOCK), EFAULT);
    CHECK_ERROR(splice(event, NULL, a[1], NULL, 8, NONBLOCK), EINVAL);
    CHECK_ERROR(splice(directory, NULL, a[1], NULL, 8, NONBLOCK), EINVAL);
    CHECK_ERROR(splice(memory, &zero, a[1], NULL, 8, NONBLOCK), EINVAL);
    CHECK_ERROR(splice(a[0], NULL, b[1], NULL, 1, NONBLOCK), EAGAIN);
    CHECK_ERROR(tee(a[0], a[1], 1, NONBLOCK), EINVAL);
    CHECK_ERROR(tee(file, a[1], 1, NONBLOCK), EINVAL);
    CHECK_ERROR(tee(a[0], b[1], 0, ~0u), EINVAL);
    CHECK(tee(-1, -1, 0, 0) == 0, "%s", strerror(errno));
    CHECK_ERROR(vmsplice(file, &part, 1, 0), EBADF);
    CHECK_ERROR(vmsplice(a[1], &part, 2000, 0), EINVAL);
    CHECK_ERROR(vmsplice(a[1], &part, 1, 0), EFAULT);
    CHECK_ERROR(vmsplice(a[1], &part, 1, ~0u), EINVAL);
    CHECK(vmsplice(a[1], &part, 0, 0) == 0, "%s", strerror(errno));
    CHECK(write(a[1], "x", 1) == 1, "%s", strerror(errno));
    CHECK_ERROR(splice(a[0], NULL, file, NULL, SIZE_MAX, 0), EINVAL);
    CHECK_ERROR(splice(a[0], NULL, file, &far, SSIZE_MAX, 0), EINVAL);
    CHECK_ERROR(splice(a[0], NULL, memory, &zero, 1, 0), EINVAL);
    CHECK(fcntl(file, F_SETFL, O_APPEND) == 0, "%s", strerror(errno));
    CHECK_ERROR(splice(a[0], NULL, file, NULL, 1, 0), EINVAL);
    CHECK(splice(event, NULL, a[1], NULL, 8, 0) < 0 && waiting_bytes(a[0]) == 1, "%d", waiting_bytes(a[0]));
    CHECK(poll(&(struct pollfd){.fd = event, .events = POLLIN}, 1, 0) == 1, "the event was lost");
    splice_close(a);
    splice_close(b);
    close(file);
    close(event);
    close(memory);
    close(directory);
}

static void test_files(void)
{
    int ends[2], from = memory_file("abcdefghij"), to = memory_file("..........");
    loff_t in = 6, out = 3;

    if (!splice_pipe(ends, 0))
        return;
    CHECK(splice(from, NULL, ends[1], NULL, 3, 0) == 3 && lseek(from, 0, SEEK_CUR) == 3, "%s", strerror(errno));
    CHECK(splice(from, &in, ends[1], NULL, 100, 0) == 4 && in == 10 && lseek(from, 0, SEEK_CUR) == 3, "%ld", (long)in);
    CHECK(splice(from, &in, ends[1], NULL, 100, 0) == 0 && in == 10, "%ld", (long)in);
    CHECK(splice(ends[0], NULL, to, &out, 5, 0) == 5 && out == 8 && lseek(to, 0, SEEK_CUR) == 0, "%ld", (long)out);
    CHECK(splice(ends[0], NULL, to, NULL, 100, 0) == 2 && lseek(to, 0, SEEK_CUR) == 2, "%s", strerror(errno));
    CHECK(lseek(to, 0, SEEK_SET) == 0, "%s", strerror(errno));
    expect_text(to, "ij.abcgh..");
    close(ends[1]);
    CHECK(splice(ends[0], NULL, to, NULL, 100, 0) == 0, "the end: %s", strerror(errno));
    close(ends[0]);
    close(from);
    close(to);
}

static void test_pipes(void)
{
    int a[2], b[2];

    if (!splice_pipe(a, 0) || !splice_pipe(b, 0))
        return;
    CHECK(write(a[1], "one two three", 13) == 13, "%s", strerror(errno));
    CHECK(splice(a[0], NULL, b[1], NULL, 8, SPLICE_F_MOVE | SPLICE_F_MORE) == 8, "%s", strerror(errno));
    expect_text(b[0], "one two ");
    CHECK(splice(a[0], NULL, b[1], NULL, 800, 0) == 5, "%s", strerror(errno));
    expect_text(b[0], "three");
    CHECK(fcntl(b[1], F_SETFL, O_NONBLOCK) == 0, "%s", strerror(errno));
    CHECK_ERROR(splice(a[0], NULL, b[1], NULL, 8, 0), EAGAIN);
    close(a[1]);
    CHECK(splice(a[0], NULL, b[1], NULL, 8, 0) == 0, "%s", strerror(errno));
    close(a[0]);
    splice_close(b);
}

static void test_tee(void)
{
    int a[2], b[2];

    if (!splice_pipe(a, 0) || !splice_pipe(b, 0))
        return;
    CHECK_ERROR(tee(a[0], b[1], 5, NONBLOCK), EAGAIN);
    CHECK(write(a[1], "left there", 10) == 10, "%s", strerror(errno));
    CHECK(tee(a[0], b[1], 4, 0) == 4 && tee(a[0], b[1], 100, 0) == 10, "%s", strerror(errno));
    expect_text(b[0], "leftleft there");
    expect_text(a[0], "left there");
    close(a[1]);
    CHECK(tee(a[0], b[1], 100, 0) == 0, "%s", strerror(errno));
    close(b[0]);
    broken_pipes = 0;
    CHECK_ERROR(tee(a[0], b[1], 100, 0), EPIPE);
    CHECK(broken_pipes == 1, "%d", broken_pipes);
    close(a[0]);
    close(b[1]);
}

static void test_memory(void)
{
    char one[4] = "", two[16] = "";
    struct iovec out[] = {{"ab", 2}, {NULL, 0}, {"cdefg", 5}};
    struct iovec in[] = {{one, 3}, {two, sizeof(two)}};
    struct iovec half[] = {{TAP_UNMAPPED, 2}, {two, 1}};
    int ends[2];

    if (!splice_pipe(ends, O_NONBLOCK))
        return;
    CHECK(vmsplice(ends[1], out, 3, SPLICE_F_GIFT) == 7, "%s", strerror(errno));
    CHECK_ERROR(vmsplice(ends[0], half, 2, 0), EFAULT);
    CHECK(waiting_bytes(ends[0]) == 7, "%d bytes are left", waiting_bytes(ends[0]));
    CHECK(vmsplice(ends[0], in, 2, 0) == 7 && strcmp(one, "abc") == 0 && strcmp(two, "defg") == 0, "'%s' '%s'", one,
          two);
    CHECK_ERROR(vmsplice(ends[0], in, 2, NONBLOCK), EAGAIN);
    close(ends[0]);
    broken_pipes = 0;
    CHECK_ERROR(vmsplice(ends[1], out, 3, 0), EPIPE);
    CHECK(broken_pipes == 1, "%d", broken_pipes);
    close(ends[1]);
}

/* As far as there is memory, by pages. */
static void test_memory_ends(void)
{
    static char other[4096];
    const size_t page = sizeof(other);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct iovec whole = {memory, 2 * page}, two[] = {{memory, page}, {memory + page, page}};
    int ends[2];

    if (!CHECK(memory != MAP_FAILED && munmap(memory + page, page) == 0, "%s", strerror(errno)) ||
        !splice_pipe(ends, O_NONBLOCK))
        return;
    memset(memory, 'm', page);
    CHECK(vmsplice(ends[1], &whole, 1, 0) == (ssize_t)page, "%s", strerror(errno));
    CHECK(vmsplice(ends[1], two, 2, 0) == (ssize_t)page, "%s", strerror(errno));
    CHECK(waiting_bytes(ends[0]) == (int)(2 * page), "%d", waiting_bytes(ends[0]));
    two[0].iov_base = other; /* on Linux the pipe has the page itself */
    CHECK(vmsplice(ends[0], two, 2, 0) == (ssize_t)page && other[page - 1] == 'm', "%s", strerror(errno));
    CHECK(waiting_bytes(ends[0]) == (int)page, "%d bytes are left", waiting_bytes(ends[0]));
    CHECK_ERROR(vmsplice(ends[0], &two[1], 1, 0), EFAULT);
    munmap(memory, page);
    splice_close(ends);
}

static void test_room(void)
{
    static char block[ROOM];
    int a[2], b[2], file = memfd_create("splice", 0);

    if (!splice_pipe(a, 0) || !splice_pipe(b, 0))
        return;
    CHECK(write(b[1], block, ROOM) == ROOM && write(a[1], "more", 4) == 4, "%s", strerror(errno));
    CHECK_ERROR(splice(a[0], NULL, b[1], NULL, 4, NONBLOCK), EAGAIN);
    CHECK_ERROR(tee(a[0], b[1], 4, NONBLOCK), EAGAIN);
    CHECK_ERROR(splice(file, NULL, b[1], NULL, 4, NONBLOCK), EAGAIN);
    CHECK_ERROR(vmsplice(b[1], &(struct iovec){block, 4}, 1, NONBLOCK), EAGAIN);
    CHECK(waiting_bytes(a[0]) == 4 && waiting_bytes(b[0]) == ROOM, "%d, %d", waiting_bytes(a[0]), waiting_bytes(b[0]));
    CHECK(read(b[0], block, 4096) == 4096, "%s", strerror(errno));
    CHECK(splice(a[0], NULL, b[1], NULL, 400, NONBLOCK) == 4 && waiting_bytes(a[0]) == 0, "%s", strerror(errno));
    splice_close(a);
    splice_close(b);
    close(file);
}

static void test_broken(void)
{
    int a[2], b[2], file = memory_file("text"), pair[2];

    if (!splice_pipe(a, 0) || !splice_pipe(b, 0) ||
        !CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "%s", strerror(errno)))
        return;
    close(b[0]);
    broken_pipes = 0;
    CHECK(write(a[1], "kept", 4) == 4, "%s", strerror(errno));
    CHECK_ERROR(splice(a[0], NULL, b[1], NULL, 4, 0), EPIPE);
    CHECK_ERROR(splice(file, NULL, b[1], NULL, 4, 0), EPIPE);
    CHECK(lseek(file, 0, SEEK_CUR) == 0, "the file has moved on");
    close(pair[1]);
    CHECK_ERROR(splice(a[0], NULL, pair[0], NULL, 4, 0), EPIPE);
    CHECK(broken_pipes == 3, "%d", broken_pipes);
    expect_text(a[0], "kept");
    close(b[1]);
    close(pair[0]);
    splice_close(a);
    close(file);
}

static void test_refused_write(void)
{
    int ends[2], sealed = memory_file("1234"), limited = memory_file("");
    struct rlimit old, few = {.rlim_cur = 3};

    if (!splice_pipe(ends, 0))
        return;
    CHECK(write(ends[1], "abcdef", 6) == 6, "%s", strerror(errno));
    CHECK(fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE) == 0, "%s", strerror(errno));
    CHECK_ERROR(splice(ends[0], NULL, sealed, NULL, 6, 0), EPERM);
    CHECK(waiting_bytes(ends[0]) == 6, "%d", waiting_bytes(ends[0]));
    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0, "%s", strerror(errno));
    few.rlim_max = old.rlim_max;
    CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0, "%s", strerror(errno));
    CHECK(splice(ends[0], NULL, limited, NULL, 6, 0) == 3, "%s", strerror(errno));
    CHECK_ERROR(splice(ends[0], NULL, limited, NULL, 6, 0), EFBIG);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0, "%s", strerror(errno));
    signal(SIGXFSZ, SIG_DFL);
    expect_text(ends[0], "def");
    splice_close(ends);
    close(sealed);
    close(limited);
}

static void test_sockets(void)
{
    static char block[4096];
    ssize_t count, total = 0;
    int a[2], b[2], pair[2];

    if (!splice_pipe(a, 0) || !splice_pipe(b, 0) ||
        !CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "%s", strerror(errno)))
        return;
    CHECK_ERROR(splice(pair[1], NULL, b[1], NULL, 10, NONBLOCK), EAGAIN);
    CHECK(write(a[1], "by way of", 9) == 9 && splice(a[0], NULL, pair[0], NULL, 100, 0) == 9, "%s", strerror(errno));
    CHECK(splice(pair[1], NULL, b[1], NULL, 100, 0) == 9, "%s", strerror(errno));
    expect_text(b[0], "by way of");
    CHECK(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0, "%s", strerror(errno));
    do {
        CHECK(waiting_bytes(a[0]) > 0 || write(a[1], block, sizeof(block)) == sizeof(block), "%s", strerror(errno));
        count = splice(a[0], NULL, pair[0], NULL, sizeof(block), 0);
        total += count > 0 ? count : 0;
    } while (count > 0);
    CHECK(errno == EAGAIN && total > 0, "%s after %ld bytes", strerror(errno), (long)total);
    CHECK(waiting_bytes(a[0]) > 0, "what the socket did not take is lost");
    close(pair[0]);
    while ((count = splice(pair[1], NULL, b[1], NULL, sizeof(block), 0)) > 0) {
        CHECK(read(b[0], block, sizeof(block)) == count, "%s", strerror(errno));
        total -= count;
    }
    CHECK(total == 0, "%ld bytes are missing", (long)total);
    close(pair[1]);
    splice_close(a);
    splice_close(b);
}

static void test_terminal(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave, ends[2];
    char got[16] = "";

    if (!CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0, "%s", strerror(errno)) ||
        !splice_pipe(ends, 0))
        return;
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    CHECK(slave >= 0 && write(master, "line\n", 5) == 5, "%s", strerror(errno));
    CHECK(splice(slave, NULL, ends[1], NULL, 100, 0) == 5, "%s", strerror(errno));
    expect_text(ends[0], "line\n");
    CHECK(read(master, got, sizeof(got)) == 6, "the echo: '%s'", got);
    CHECK(write(ends[1], "out", 3) == 3 && splice(ends[0], NULL, slave, NULL, 100, 0) == 3, "%s", strerror(errno));
    CHECK(splice(master, NULL, ends[1], NULL, 100, 0) == 3, "%s", strerror(errno));
    expect_text(ends[0], "out");
    CHECK_ERROR(splice(slave, &(loff_t){0}, ends[1], NULL, 1, 0), EINVAL);
    splice_close(ends);
    close(slave);
    close(master);
}

static void test_fifo(void)
{
    int both, ends[2];

    unlink("/tmp/splice-fifo");
    if (!CHECK(mkfifo("/tmp/splice-fifo", 0600) == 0, "%s", strerror(errno)) || !splice_pipe(ends, 0))
        return;
    both = open("/tmp/splice-fifo", O_RDWR);
    CHECK_ERROR(splice(both, NULL, both, NULL, 1, NONBLOCK), EINVAL);
    CHECK(write(ends[1], "named", 5) == 5 && splice(ends[0], NULL, both, NULL, 9, 0) == 5, "%s", strerror(errno));
    CHECK(tee(both, ends[1], 2, 0) == 2 && splice(both, NULL, ends[1], NULL, 9, 0) == 5, "%s", strerror(errno));
    expect_text(ends[0], "nanamed");
    close(both);
    splice_close(ends);
    unlink("/tmp/splice-fifo");
}

/* Packets lose nothing when a splice takes a part of one. */
static void test_packets(void)
{
    int a[2], file = memfd_create("splice", 0);

    if (!splice_pipe(a, O_DIRECT))
        return;
    CHECK(write(a[1], "abc", 3) == 3 && write(a[1], "defg", 4) == 4, "%s", strerror(errno));
    CHECK(splice(a[0], NULL, file, NULL, 2, 0) == 2 && splice(a[0], NULL, file, NULL, 3, 0) == 3, "%s",
          strerror(errno));
    expect_text(a[0], "fg");
    CHECK(lseek(file, 0, SEEK_SET) == 0, "%s", strerror(errno));
    expect_text(file, "abcde");
    splice_close(a);
    close(file);
}

/* A splice that waits ends with a signal, and nothing has moved. */
static void test_interrupted(void)
{
    static char block[ROOM];
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval soon = {.it_value = {0, 30000}, .it_interval = {0, 30000}}, never = {.it_value = {0, 0}};
    int a[2], b[2];

    if (!splice_pipe(a, 0) || !splice_pipe(b, 0))
        return;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    CHECK_ERROR(splice(a[0], NULL, b[1], NULL, 4, 0), EINTR);
    CHECK_ERROR(vmsplice(a[0], &(struct iovec){block, 4}, 1, 0), EINTR);
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(write(a[1], "kept", 4) == 4 && write(b[1], block, ROOM) == ROOM, "%s", strerror(errno));
    setitimer(ITIMER_REAL, &soon, NULL);
    CHECK_ERROR(splice(a[0], NULL, b[1], NULL, 4, 0), EINTR);
    CHECK_ERROR(tee(a[0], b[1], 4, 0), EINTR);
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(alarms > 0 && waiting_bytes(b[0]) == ROOM, "%d", waiting_bytes(b[0]));
    expect_text(a[0], "kept");
    signal(SIGALRM, SIG_DFL);
    splice_close(a);
    splice_close(b);
}

/* The tests of one thread, on every kernel; what they use is at home. */
static void test_away(void)
{
    if (tap_skip_alone())
        return;
    for (int k = 1; k < kernels_count(); k++) {
        kernels_go(k);
        test_refusals();
        test_files();
        test_pipes();
        test_tee();
        test_memory();
        test_memory_ends();
        test_room();
        test_broken();
        test_refused_write();
        test_sockets();
        test_terminal();
        test_packets();
    }
    kernels_go(0);
}

static const struct tap_test tests[] = {
    {"refusals", "invalid calls are refused in the order of Linux, and move nothing", test_refusals},
    {"files", "splice moves bytes of files into pipes and out of them, with offsets and without", test_files},
    {"pipes", "splice moves bytes from one pipe into another", test_pipes},
    {"tee", "tee leaves what it copies", test_tee},
    {"memory", "vmsplice moves memory into a pipe and out of it, and keeps what cannot be stored", test_memory},
    {"memory-ends", "a transfer to or from a pipe ends where memory ends", test_memory_ends},
    {"room", "without room nothing moves and nothing is lost", test_room},
    {"broken", "a pipe without a reader gives EPIPE and SIGPIPE, and the bytes stay where they are", test_broken},
    {"refused-write", "bytes that the other file refuses stay in the pipe", test_refused_write},
    {"sockets", "splice moves bytes into sockets and out of them", test_sockets},
    {"terminal", "splice moves bytes into terminals and out of them", test_terminal},
    {"fifo", "a FIFO can be spliced as a pipe", test_fifo},
    {"packets", "a packet that is spliced in part keeps the rest", test_packets},
    {"interrupted", "a signal interrupts a splice that waits, and nothing has moved", test_interrupted},
    {"away", "splice does the same on every kernel", test_away},
    {"waits", "a splice waits for bytes, and for room", splice_test_waits},
    {"relay", "a stream arrives whole and in order through pipes of different kernels, spliced by several at once",
     splice_test_relay},
    {"shared-source", "each byte goes to exactly one of the processes that read and splice at once",
     splice_test_shared_source},
    {"shared-target", "files that several processes splice into one pipe arrive whole", splice_test_shared_target},
    {"end", "a splice from an empty pipe without writers to a full pipe waits for room, and ends when the reader goes",
     splice_test_end},
    {"full", "two processes that splice between full pipes in both directions sleep", splice_test_full},
    {"stream-interrupted", "a signal ends a splice though bytes keep coming", splice_test_stream_interrupted},
};

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_broken, .sa_flags = SA_RESTART};

    sigaction(SIGPIPE, &action, NULL);
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
