/* test-kept-reads: reads that wait for a file of another kernel, which keeps their requests until there is something to
 * read: they get all of it, once, however they end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define MESSAGE_MAX 4096
#define SIGNALLED 400 /* bytes that are read while signals come */
#define STEPS 40
#define CREW 3

/* What a reader does at KERNEL. */
struct reader {
    int kernel, fd;
    size_t room;
    uint8_t data[MESSAGE_MAX];
};

static long read_from(int fd, void *data, size_t room)
{
    return x86_syscall3(SYS_read, fd, (long)data, (long)room);
}

static void read_once(struct thread *thread)
{
    struct reader *reader = thread->argument;
    long result = thread_move(reader->kernel);

    thread->result = result != 0 ? -1000 + result : read_from(reader->fd, reader->data, reader->room);
}

static bool start_reader(struct thread *thread, struct reader *reader, int kernel, int fd, size_t room)
{
    *reader = (struct reader){.kernel = kernel, .fd = fd, .room = room};
    *thread = (struct thread){.argument = reader};
    if (!CHECK(thread_start(thread, read_once), "%s", strerror(errno)))
        return false;
    UNTIL(tap_sleeps(getpid(), thread->tid), "the reader to wait");
    return true;
}

/* Of every size that the answer takes along, up to one that the reader fetches. */
static void test_sizes(void)
{
    static const size_t sizes[] = {1, 8, 15, 16, 17, 48, 100, 511, 512, 513, 4096};
    static struct reader reader;
    static uint8_t message[MESSAGE_MAX];
    int kernels[64], ends[2];
    int count = tap_kernels(kernels);

    for (size_t i = 0; i < sizeof(message); i++)
        message[i] = (uint8_t)(i * 7 + i / 251);
    for (int k = 0; k < count && k < 4; k++) {
        for (size_t i = 0; i < TAP_COUNT(sizes); i++) {
            for (size_t sent = sizes[i]; sent > 0;
                 sent = sent > 1 ? 1 : 0) { /* as much as there is room for, and less */
                struct thread thread;

                if (!CHECK(pipe(ends) == 0, "%s", strerror(errno)) ||
                    !start_reader(&thread, &reader, kernels[k], ends[0], sizes[i]))
                    return;
                CHECK(write(ends[1], message, sent) == (ssize_t)sent, "%s", strerror(errno));
                CHECK(thread_join(&thread) && thread.result == (long)sent, "%ld of %zu", thread.result, sent);
                CHECK(memcmp(reader.data, message, sent) == 0, "%zu bytes on kernel %d", sent, kernels[k]);
                close(ends[0]);
                close(ends[1]);
            }
        }
    }
}

/* A write of more than the reader has room for leaves the rest. */
static void test_rest(void)
{
    static struct reader reader;
    int kernels[64], ends[2];
    int count = tap_kernels(kernels);

    for (int k = 0; k < count && k < 4; k++) {
        char rest[16] = "";
        struct thread thread;

        if (!CHECK(pipe(ends) == 0, "%s", strerror(errno)) || !start_reader(&thread, &reader, kernels[k], ends[0], 3))
            return;
        CHECK(write(ends[1], "abcdefgh", 8) == 8, "%s", strerror(errno));
        CHECK(thread_join(&thread) && thread.result == 3 && memcmp(reader.data, "abc", 3) == 0, "%ld", thread.result);
        CHECK(read(ends[0], rest, sizeof(rest)) == 5 && memcmp(rest, "defgh", 5) == 0, "%s", rest);
        close(ends[0]);
        close(ends[1]);
    }
}

static void test_kinds(void)
{
    static struct reader reader;
    int kernels[64];
    int count = tap_kernels(kernels);

    for (int k = 0; k < count && k < 4; k++) {
        int ends[2], fd = eventfd(0, 0);
        uint64_t value = 77, got;
        struct thread thread;

        if (!start_reader(&thread, &reader, kernels[k], fd, 8))
            return;
        CHECK(write(fd, &value, 8) == 8, "%s", strerror(errno));
        CHECK(thread_join(&thread) && thread.result == 8, "%ld", thread.result);
        memcpy(&got, reader.data, 8);
        CHECK(got == 77, "%lu", got);
        close(fd);
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "%s", strerror(errno));
        if (!start_reader(&thread, &reader, kernels[k], ends[0], 100))
            return;
        CHECK(write(ends[1], "stream", 6) == 6, "%s", strerror(errno));
        CHECK(thread_join(&thread) && thread.result == 6 && memcmp(reader.data, "stream", 6) == 0, "%ld",
              thread.result);
        close(ends[0]);
        close(ends[1]);
    }
}

/* In a child that may run on its first kernel only, so that this is where it is at home, and its pipes. */
static int end_all(void *context)
{
    static struct reader reader;
    int kernels[64], ends[2];
    int count = tap_kernels(kernels), home = kettle_kernel();

    (void)context;
    for (int k = 0; k < count && k < 4; k++) {
        for (int which = kernels[k] == home ? 1 : 0; which < 2; which++) { /* at home a closed file is waited for */
            struct thread thread;

            if (!CHECK(pipe(ends) == 0, "%s", strerror(errno)) ||
                !start_reader(&thread, &reader, kernels[k], ends[0], 8))
                return 1;
            close(ends[which]); /* the end that is read, or the last writer's */
            if (!CHECK(thread_join(&thread) && thread.result == (which == 0 ? -EBADF : 0), "%ld", thread.result))
                return 1;
            close(ends[1 - which]);
        }
    }
    return 0;
}

static void test_end(void)
{
    cpu_set_t all, here;

    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    CHECK(sched_getaffinity(0, sizeof(all), &all) == 0 && sched_setaffinity(0, sizeof(here), &here) == 0, "%s",
          strerror(errno));
    CHECK(tap_fork(end_all, NULL) == 0, "a reader");
    CHECK(sched_setaffinity(0, sizeof(all), &all) == 0, "%s", strerror(errno));
}

/* --- signals --- */

static atomic_int handled, finished;

static void handle(int number)
{
    (void)number;
    handled++;
}

/* Reads bytes that count up. A read ends with a byte or with EINTR. The result is how many bytes it got, if in order.
 */
static void read_all(struct thread *thread)
{
    struct reader *reader = thread->argument;
    long result = thread_move(reader->kernel), got = 0;

    while (result == 0 && got < SIGNALLED) {
        uint8_t byte = 0;
        long count = read_from(reader->fd, &byte, 1);

        if (count == 1 && byte == (uint8_t)got)
            got++;
        else if (count != -EINTR)
            result = count < 0 ? count : -EILSEQ;
    }
    finished = 1;
    thread->result = result < 0 ? result : got;
}

/* What arrives together with a signal is neither lost nor read twice. */
static void test_signals(void)
{
    struct sigaction action = {.sa_handler = handle}; /* without SA_RESTART */
    static struct reader reader;
    int kernels[64], ends[2];
    int count = tap_kernels(kernels);

    sigaction(SIGUSR1, &action, NULL);
    for (int k = 0; k < count && k < 4; k++) {
        struct thread thread = {.argument = &reader};

        handled = 0;
        finished = 0;
        if (!CHECK(pipe(ends) == 0, "%s", strerror(errno)))
            return;
        reader = (struct reader){.kernel = kernels[k], .fd = ends[0]};
        CHECK(thread_start(&thread, read_all), "%s", strerror(errno));
        for (int i = 0; i < SIGNALLED && !finished; i++) {
            uint8_t byte = (uint8_t)i;

            UNTIL(tap_sleeps(getpid(), thread.tid) || finished, "the reader to wait");
            x86_syscall3(SYS_tgkill, getpid(), thread.tid_first, SIGUSR1);
            for (int j = 0; j < i % STEPS; j++) /* so that the byte and the end of the wait cross at each point */
                x86_pause();
            CHECK(write(ends[1], &byte, 1) == 1, "%s", strerror(errno));
        }
        CHECK(thread_join(&thread) && thread.result == SIGNALLED, "%ld on kernel %d", thread.result, kernels[k]);
        CHECK(handled > 0, "%d signals", handled);
        close(ends[0]);
        close(ends[1]);
    }
    signal(SIGUSR1, SIG_DFL);
}

/* A reader that is killed while it waits takes nothing of what is written afterwards. */
static void test_killed(void)
{
    int kernels[64], ends[2];
    int count = tap_kernels(kernels);

    for (int k = 0; k < count && k < 4; k++) {
        char byte = 0;
        int status;
        pid_t child;

        if (!CHECK(pipe(ends) == 0, "%s", strerror(errno)))
            return;
        child = fork();
        if (child == 0) {
            if (kettle_migrate(kernels[k]) == 0)
                read(ends[0], &byte, 1);
            _exit(1);
        }
        UNTIL(tap_sleeps(child, child), "the child to wait");
        kill(child, SIGKILL);
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "%#x", status);
        CHECK(write(ends[1], "x", 1) == 1, "%s", strerror(errno));
        CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && read(ends[0], &byte, 1) == 1 && byte == 'x', "%s",
              strerror(errno));
        close(ends[0]);
        close(ends[1]);
    }
}

/* Several readers, each on another kernel: every byte comes to one of them. */
static void test_several(void)
{
    static struct reader readers[CREW];
    struct thread threads[CREW];
    int kernels[64], ends[2];
    int count = tap_kernels(kernels);
    unsigned seen = 0;

    if (!CHECK(pipe(ends) == 0, "%s", strerror(errno)))
        return;
    for (int i = 0; i < CREW; i++) {
        if (!start_reader(&threads[i], &readers[i], kernels[(i + 1) % count], ends[0], 1))
            return;
    }
    for (int i = 0; i < CREW; i++)
        CHECK(write(ends[1], (char[]){(char)i}, 1) == 1, "%s", strerror(errno));
    for (int i = 0; i < CREW; i++) {
        CHECK(thread_join(&threads[i]) && threads[i].result == 1, "%ld", threads[i].result);
        seen |= 1u << readers[i].data[0];
    }
    CHECK(seen == (1u << CREW) - 1, "%#x", seen);
    close(ends[0]);
    close(ends[1]);
}

static const struct tap_test tests[] = {
    {"sizes", "a read that waits on any kernel gets what is written, of any size", test_sizes},
    {"rest", "what a read has no room for stays in the pipe", test_rest},
    {"kinds", "eventfds and sockets keep reads too", test_kinds},
    {"end", "the end of the last writer, and of the file, end a read that waits", test_end},
    {"signals", "a read that a signal interrupts loses nothing", test_signals},
    {"killed", "a reader that is killed takes nothing along", test_killed},
    {"several", "of several readers each gets its byte", test_several},
};

int main(int argc, char **argv)
{
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
