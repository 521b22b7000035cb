/* test-pipes: pipes, poll and select, with both ends on any kernels.
 *
 *     test-pipes [--count N]
 *
 * --count writes and reads a byte N times between the marks of region 1, by itself and with no test.
 *
 * Long because it is a list: every test is short and stands alone. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "userland/bench/mark.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PIPE_BYTES 65536
#define ATOMIC 4096 /* PIPE_BUF */
#define STREAM (300 * 1024)
#define RECORD 512
#define RECORDS 200
#define WRITERS 4
#define ROUNDS 200

static int ends[2]; /* of the running test's pipe */
static int answers[2];

static bool pipe_make(int flags)
{
    return CHECK(pipe2(ends, flags) == 0, "%s", strerror(errno));
}

static void pipe_close(void)
{
    close(ends[0]);
    close(ends[1]);
}

/* The byte at AT of every stream. */
static char byte_at(size_t at)
{
    return (char)(at * 7 + at / 251);
}

/* --- one thread --- */

static void test_order(void)
{
    char text[32] = "";

    if (!pipe_make(0))
        return;
    CHECK(ends[0] > 2 && ends[1] > ends[0], "%d and %d", ends[0], ends[1]);
    CHECK(write(ends[1], "one ", 4) == 4 && write(ends[1], "two", 3) == 3, "%s", strerror(errno));
    CHECK(read(ends[0], text, 2) == 2 && memcmp(text, "on", 2) == 0, "%s", text);
    CHECK(read(ends[0], text, sizeof(text)) == 5 && memcmp(text, "e two", 5) == 0, "%s", text);
    CHECK(read(ends[0], text, 0) == 0 && write(ends[1], text, 0) == 0, "%s", strerror(errno));
    pipe_close();
}

static void test_end(void)
{
    char text[8];

    if (!pipe_make(0))
        return;
    CHECK(write(ends[1], "last", 4) == 4, "%s", strerror(errno));
    CHECK(close(ends[1]) == 0, "%s", strerror(errno));
    CHECK(read(ends[0], text, sizeof(text)) == 4, "%s", strerror(errno));
    CHECK(read(ends[0], text, sizeof(text)) == 0, "%s", strerror(errno));
    CHECK(read(ends[0], text, sizeof(text)) == 0, "%s", strerror(errno));
    close(ends[0]);
}

static void test_broken(void)
{
    struct pollfd state;

    if (!pipe_make(0))
        return;
    CHECK(close(ends[0]) == 0, "%s", strerror(errno));
    CHECK_ERROR(write(ends[1], "x", 1), EPIPE);
    state = (struct pollfd){.fd = ends[1], .events = POLLOUT};
    CHECK(poll(&state, 1, 0) == 1 && (state.revents & POLLERR) != 0, "%#x", state.revents);
    close(ends[1]);
}

static void test_nonblocking(void)
{
    static char block[PIPE_BYTES];
    char byte;
    int count;

    if (!pipe_make(O_NONBLOCK))
        return;
    CHECK_ERROR(read(ends[0], &byte, 1), EAGAIN);
    CHECK(write(ends[1], block, sizeof(block)) == PIPE_BYTES, "%s", strerror(errno));
    CHECK_ERROR(write(ends[1], block, 1), EAGAIN);
    CHECK(ioctl(ends[0], FIONREAD, &count) == 0 && count == PIPE_BYTES, "%d", count);
    /* Freed by whole pages, so that Linux, too, has this much room and no more. */
    CHECK(read(ends[0], block, ATOMIC) == ATOMIC, "%s", strerror(errno));
    CHECK(write(ends[1], block, 2000) == 2000, "%s", strerror(errno));
    CHECK_ERROR(write(ends[1], block, ATOMIC), EAGAIN);
    CHECK(read(ends[0], block, sizeof(block)) == PIPE_BYTES - ATOMIC + 2000, "%s", strerror(errno));
    CHECK_ERROR(read(ends[0], &byte, 1), EAGAIN);
    CHECK(fcntl(ends[0], F_SETFL, 0) == 0 && (fcntl(ends[0], F_GETFL) & O_NONBLOCK) == 0, "%s", strerror(errno));
    CHECK((fcntl(ends[1], F_GETFL) & (O_NONBLOCK | O_ACCMODE)) == (O_NONBLOCK | O_WRONLY), "other end");
    pipe_close();
}

static void test_wrong_end(void)
{
    char byte = 0;

    if (!pipe_make(O_CLOEXEC))
        return;
    CHECK_ERROR(read(ends[1], &byte, 1), EBADF);
    CHECK_ERROR(write(ends[0], &byte, 1), EBADF);
    CHECK_ERROR(lseek(ends[0], 0, SEEK_CUR), ESPIPE);
    CHECK_ERROR(pread(ends[0], &byte, 1, 0), ESPIPE);
    CHECK_ERROR(pwrite(ends[1], &byte, 1, 0), ESPIPE);
    CHECK(fcntl(ends[0], F_GETFD) == FD_CLOEXEC && fcntl(ends[1], F_GETFD) == FD_CLOEXEC, "not closed by exec");
    CHECK_ERROR(syscall(SYS_pipe2, ends, 0x7), EINVAL);
    CHECK_ERROR(syscall(SYS_pipe2, TAP_UNMAPPED, 0), EFAULT);
    pipe_close();
}

static void test_duplicate(void)
{
    char byte;
    int copy;

    if (!pipe_make(0))
        return;
    copy = dup(ends[1]);
    CHECK(copy > ends[1] && close(ends[1]) == 0, "%s", strerror(errno));
    CHECK(write(copy, "x", 1) == 1 && read(ends[0], &byte, 1) == 1, "%s", strerror(errno));
    CHECK(close(copy) == 0 && read(ends[0], &byte, 1) == 0, "%s", strerror(errno));
    close(ends[0]);
}

static void test_vectors(void)
{
    char a[3] = "", b[100] = "";
    struct iovec out[] = {{"ab", 2}, {NULL, 0}, {"cde", 3}};
    struct iovec in[] = {{a, 2}, {b, sizeof(b)}};

    if (!pipe_make(0))
        return;
    CHECK(writev(ends[1], out, 3) == 5, "%s", strerror(errno));
    CHECK(readv(ends[0], in, 2) == 5 && memcmp(a, "ab", 2) == 0 && memcmp(b, "cde", 3) == 0, "%s %s", a, b);
    /* What fills the first part must not wait for the second. */
    CHECK(write(ends[1], "xy", 2) == 2 && readv(ends[0], in, 2) == 2, "%s", strerror(errno));
    pipe_close();
}

/* --- two threads, on any kernels --- */

struct move {
    int kernel;
    long size; /* of one write */
};

/* Writes the stream in pieces of the size its argument says, and ends. Result: 0 or an error. */
static void stream_write(struct thread *thread)
{
    const struct move *move = thread->argument;
    static char bytes[2 * PIPE_BYTES];
    long result = thread_move(move->kernel);

    for (size_t at = 0; at < STREAM && result == 0;) {
        size_t size = STREAM - at < (size_t)move->size ? STREAM - at : (size_t)move->size;
        long count;

        for (size_t i = 0; i < size; i++)
            bytes[i] = byte_at(at + i);
        count = x86_syscall3(SYS_write, ends[1], (long)bytes, (long)size);
        if (count != (long)size)
            result = count < 0 ? count : -1;
        at += size;
    }
    x86_syscall1(SYS_close, ends[1]);
    thread->result = result;
}

static void stream_read(int kernel, struct move *move, size_t step)
{
    struct thread writer = {.argument = move};
    static char bytes[PIPE_BYTES];
    size_t done = 0, wrong = 0;
    int home = kettle_kernel();
    ssize_t count;

    if (!pipe_make(0))
        return;
    if (!CHECK(thread_start(&writer, stream_write), "%s", strerror(errno)))
        return;
    CHECK(thread_move(kernel) == 0, "to kernel %d", kernel);
    while ((count = read(ends[0], bytes, step)) > 0) {
        for (ssize_t i = 0; i < count; i++)
            wrong += bytes[i] != byte_at(done + (size_t)i);
        done += (size_t)count;
    }
    CHECK(count == 0, "%s", strerror(errno));
    CHECK(done == STREAM && wrong == 0, "%zu bytes, %zu wrong, from kernel %d to %d in writes of %ld, reads of %zu",
          done, wrong, move->kernel, kernel, move->size, step);
    CHECK(thread_join(&writer) && writer.result == 0, "writer: %ld", atomic_load(&writer.result));
    close(ends[0]);
    CHECK(thread_move(home) == 0, "back");
}

static void test_stream(void)
{
    static const long sizes[] = {100, 4096, 5000, 2 * PIPE_BYTES};
    int kernels[64];
    int count = tap_kernels(kernels);

    for (int i = 0; i < count && i < 3; i++) {
        for (int j = 0; j < count && j < 3; j++) {
            struct move move = {kernels[(count - 1 - i) % count], sizes[(i + j) % 4]};

            stream_read(kernels[j], &move, i % 2 == 0 ? 7000 : 65536);
        }
    }
    stream_read(kernels[0], &(struct move){kernels[0], 2 * PIPE_BYTES}, 333);
}

static void record_write(struct thread *thread)
{
    const struct move *move = thread->argument;
    long result = thread_move(move->kernel);
    char record[RECORD];

    for (int i = 0; i < RECORDS && result == 0; i++) {
        memset(record, 'a' + thread->index, sizeof(record));
        memcpy(record, &i, sizeof(i));
        if (x86_syscall3(SYS_write, ends[1], (long)record, RECORD) != RECORD)
            result = -1;
    }
    thread->result = result;
}

static void test_atomic(void)
{
    struct thread writers[WRITERS];
    struct move moves[WRITERS];
    int next[WRITERS] = {0};
    int kernels[64];
    int count = tap_kernels(kernels), broken = 0;

    if (!pipe_make(0))
        return;
    for (int i = 0; i < WRITERS; i++) {
        moves[i].kernel = kernels[i % count];
        writers[i] = (struct thread){.index = i, .argument = &moves[i]};
        CHECK(thread_start(&writers[i], record_write), "%s", strerror(errno));
    }
    for (int i = 0; i < WRITERS * RECORDS; i++) {
        char record[RECORD];
        size_t done = 0;
        int number, who;

        while (done < RECORD) {
            ssize_t some = read(ends[0], record + done, RECORD - done);

            if (!CHECK(some > 0, "%s", strerror(errno)))
                return;
            done += (size_t)some;
        }
        memcpy(&number, record, sizeof(number));
        who = record[RECORD - 1] - 'a';
        if (who < 0 || who >= WRITERS || number != next[who]++) {
            broken++;
            continue;
        }
        for (size_t j = sizeof(number); j < RECORD; j++)
            broken += record[j] != 'a' + who;
    }
    CHECK(broken == 0, "%d records mixed or out of order", broken);
    for (int i = 0; i < WRITERS; i++)
        CHECK(thread_join(&writers[i]) && writers[i].result == 0, "writer %d", i);
    pipe_close();
}

/* Answers each byte with its successor until there is none. */
static void echo_next(struct thread *thread)
{
    const struct move *move = thread->argument;
    long result = thread_move(move->kernel);
    unsigned char byte;

    while (result == 0 && x86_syscall3(SYS_read, ends[0], (long)&byte, 1) == 1) {
        byte++;
        if (x86_syscall3(SYS_write, answers[1], (long)&byte, 1) != 1)
            result = -1;
    }
    thread->result = result;
}

static void test_pingpong(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);

    for (int k = 0; k < count && k < 4; k++) {
        struct move move = {.kernel = kernels[k]};
        struct thread other = {.argument = &move};
        int wrong = 0;

        if (!pipe_make(0) || !CHECK(pipe(answers) == 0, "%s", strerror(errno)))
            return;
        CHECK(thread_start(&other, echo_next), "%s", strerror(errno));
        for (int i = 0; i < ROUNDS; i++) {
            unsigned char byte = (unsigned char)i, answer = 0;

            if (write(ends[1], &byte, 1) != 1 || read(answers[0], &answer, 1) != 1)
                wrong++;
            wrong += answer != (unsigned char)(i + 1);
        }
        CHECK(wrong == 0, "%d of %d rounds with kernel %d", wrong, ROUNDS, kernels[k]);
        close(ends[1]);
        CHECK(thread_join(&other) && other.result == 0, "on kernel %d", kernels[k]);
        close(ends[0]);
        close(answers[0]);
        close(answers[1]);
    }
}

/* --- poll and select --- */

static void test_poll(void)
{
    struct pollfd states[4];
    char byte;
    long begin;

    if (!pipe_make(0))
        return;
    states[0] = (struct pollfd){.fd = ends[0], .events = POLLIN};
    states[1] = (struct pollfd){.fd = ends[1], .events = POLLOUT};
    states[2] = (struct pollfd){.fd = -1, .events = POLLIN, .revents = 77};
    states[3] = (struct pollfd){.fd = 1000, .events = POLLIN};
    CHECK(poll(states, 1, 0) == 0 && states[0].revents == 0, "%#x", states[0].revents);
    begin = thread_time();
    CHECK(poll(states, 1, 20) == 0 && thread_time() - begin >= 20000000l, "after %ld ns", thread_time() - begin);
    CHECK(poll(states, 3, -1) == 1 && states[1].revents == POLLOUT && states[2].revents == 0, "%#x %#x",
          states[1].revents, states[2].revents);
    CHECK(poll(states, 4, -1) == 2 && states[3].revents == POLLNVAL, "%#x", states[3].revents);
    CHECK(write(ends[1], "x", 1) == 1 && poll(states, 1, -1) == 1 && states[0].revents == POLLIN, "%#x",
          states[0].revents);
    close(ends[1]);
    CHECK(poll(states, 1, -1) == 1 && states[0].revents == (POLLIN | POLLHUP), "%#x", states[0].revents);
    CHECK(read(ends[0], &byte, 1) == 1 && poll(states, 1, -1) == 1 && states[0].revents == POLLHUP, "%#x",
          states[0].revents);
    CHECK(poll(NULL, 0, 5) == 0, "%s", strerror(errno));
    CHECK_ERROR(poll(TAP_UNMAPPED, 1, 0), EFAULT);
    close(ends[0]);
}

/* Writes a byte to ends[1] from its kernel when the first thread waits for it. */
static void write_soon(struct thread *thread)
{
    const struct move *move = thread->argument;
    long result = thread_move(move->kernel);

    UNTIL(tap_sleeps(0, getpid()), "the first thread to wait for the pipe");
    if (result == 0 && x86_syscall3(SYS_write, ends[1], (long)"!", 1) != 1)
        result = -1;
    thread->result = result;
}

static void test_poll_waits(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);
    int home = kettle_kernel();

    for (int k = 0; k < count && k < 4; k++) {
        struct move move = {.kernel = kernels[count - 1 - k]};
        struct thread writer = {.argument = &move};
        struct pollfd states[2];
        fd_set set;
        char byte;

        if (!pipe_make(0) || !CHECK(pipe(answers) == 0, "%s", strerror(errno)))
            return;
        CHECK(thread_move(kernels[k]) == 0, "to kernel %d", kernels[k]);
        states[0] = (struct pollfd){.fd = answers[0], .events = POLLIN};
        states[1] = (struct pollfd){.fd = ends[0], .events = POLLIN};
        CHECK(thread_start(&writer, write_soon), "%s", strerror(errno));
        CHECK(poll(states, 2, 20000) == 1 && states[0].revents == 0 && states[1].revents == POLLIN, "%#x %#x",
              states[0].revents, states[1].revents);
        CHECK(read(ends[0], &byte, 1) == 1 && thread_join(&writer) && writer.result == 0, "%s", strerror(errno));
        CHECK(thread_start(&writer, write_soon), "%s", strerror(errno));
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        FD_SET(answers[0], &set);
        CHECK(select(answers[0] + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(ends[0], &set) &&
                  !FD_ISSET(answers[0], &set),
              "%s", strerror(errno));
        CHECK(thread_join(&writer) && writer.result == 0, "writer");
        pipe_close();
        close(answers[0]);
        close(answers[1]);
        CHECK(thread_move(home) == 0, "back");
    }
}

static void test_poll_room(void)
{
    static char block[PIPE_BYTES];
    struct pollfd state;

    if (!pipe_make(O_NONBLOCK))
        return;
    state = (struct pollfd){.fd = ends[1], .events = POLLOUT};
    CHECK(write(ends[1], block, sizeof(block)) == PIPE_BYTES, "%s", strerror(errno));
    CHECK(poll(&state, 1, 10) == 0, "room in a full pipe");
    CHECK(read(ends[0], block, ATOMIC) == ATOMIC, "%s", strerror(errno));
    CHECK(poll(&state, 1, -1) == 1 && state.revents == POLLOUT, "%#x", state.revents);
    pipe_close();
}

static void test_select(void)
{
    struct timeval time = {0, 20000};
    struct timespec exact = {0, 20000000};
    fd_set in, out;
    long begin = thread_time();

    if (!pipe_make(0))
        return;
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(ends[0], &in);
    CHECK(select(ends[0] + 1, &in, NULL, NULL, &time) == 0 && thread_time() - begin >= 20000000l &&
              !FD_ISSET(ends[0], &in),
          "%s", strerror(errno));
    FD_SET(ends[0], &in);
    CHECK(pselect(ends[0] + 1, &in, NULL, NULL, &exact, NULL) == 0, "%s", strerror(errno));
    FD_SET(ends[0], &in);
    FD_SET(ends[1], &out);
    CHECK(write(ends[1], "x", 1) == 1 && select(ends[1] + 1, &in, &out, NULL, NULL) == 2 && FD_ISSET(ends[0], &in) &&
              FD_ISSET(ends[1], &out),
          "%s", strerror(errno));
    pipe_close();
    FD_ZERO(&in);
    FD_SET(ends[0], &in);
    CHECK_ERROR(select(ends[0] + 1, &in, NULL, NULL, NULL), EBADF);
}

/* A pipe that another thread closes does not keep a reader: it is told. Here the writer's end goes. */
static void close_soon(struct thread *thread)
{
    const struct move *move = thread->argument;
    long result = thread_move(move->kernel);

    UNTIL(tap_sleeps(0, getpid()), "the first thread to wait for the pipe");
    x86_syscall1(SYS_close, ends[1]);
    thread->result = result;
}

static void test_end_wakes(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);

    for (int k = 0; k < count && k < 4; k++) {
        struct move move = {.kernel = kernels[k]};
        struct thread closer = {.argument = &move};
        char byte;

        if (!pipe_make(0))
            return;
        CHECK(thread_start(&closer, close_soon), "%s", strerror(errno));
        CHECK(read(ends[0], &byte, 1) == 0, "%s", strerror(errno));
        CHECK(thread_join(&closer) && closer.result == 0, "on kernel %d", kernels[k]);
        close(ends[0]);
    }
}

/* The tests of one thread, on every kernel. */
static void test_away(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);
    int home = kettle_kernel();

    if (tap_skip_alone())
        return;
    for (int k = 0; k < count && k < 8; k++) {
        CHECK(kettle_migrate(kernels[k]) == 0, "%s", strerror(errno));
        test_order();
        test_end();
        test_broken();
        test_nonblocking();
        test_wrong_end();
        test_duplicate();
        test_vectors();
        test_poll();
        test_poll_room();
        test_select();
    }
    CHECK(kettle_migrate(home) == 0, "%s", strerror(errno));
}

static const struct tap_test tests[] = {
    {"order", "a pipe keeps the order of bytes", test_order},
    {"end", "a pipe ends after its contents when the last writer is closed", test_end},
    {"broken", "a write to a pipe without a reader is EPIPE", test_broken},
    {"nonblocking", "a pipe holds 64 KiB, and O_NONBLOCK gives EAGAIN in place of a wait", test_nonblocking},
    {"wrong-end", "the read end cannot be written, nor the write end read", test_wrong_end},
    {"duplicate", "a duplicate keeps its end open", test_duplicate},
    {"vectors", "readv and writev keep the order, and do not wait once some bytes have moved", test_vectors},
    {"stream", "a stream arrives whole between any two kernels, in writes and reads of any size", test_stream},
    {"atomic", "writes of several threads up to 4096 bytes are not mixed", test_atomic},
    {"pingpong", "two threads answer each other through two pipes", test_pingpong},
    {"end-wakes", "the end of the last writer wakes a reader", test_end_wakes},
    {"poll", "poll reports what is ready, and waits as long as its timeout", test_poll},
    {"poll-waits", "poll and select wake when another thread writes", test_poll_waits},
    {"poll-room", "poll reports room to write", test_poll_room},
    {"select", "select reports what is ready, and waits as long as its timeout", test_select},
    {"away", "pipes are the same on every kernel", test_away},
};

static void count_bytes(long count)
{
    char byte = 0;

    if (pipe(ends) != 0)
        exit(1);
    for (int i = 0; i < 10; i++)
        CHECK(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1, "%s", strerror(errno));
    mark_begin(1);
    for (long i = 0; i < count; i++) {
        if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
            exit(1);
    }
    mark_end(1);
}

int main(int argc, char **argv)
{
    static const struct tap_program program = {.tests = tests, .count = TAP_COUNT(tests), .parameters = "[--count N]"};
    const char *count = tap_take_value(&argc, &argv, "--count");

    signal(SIGPIPE, SIG_IGN);
    if (count != NULL) { /* no tests, but N bytes that go through a pipe, one by one */
        count_bytes(strtol(count, NULL, 10));
        return 0;
    }
    return tap_main(argc, argv, &program);
}
