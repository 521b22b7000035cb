/* Of test-tree: FIFOs that wait for their other end, and openers that give up. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/fs/tree.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

void tree_test_fifo(void)
{
    char bytes[16] = {0};
    int status, fd, writer;

    tree_begin();
    GIVES(mkfifo("p", 0644), 0);
    GIVES(tree_opened("p", O_WRONLY | O_NONBLOCK), ENXIO);
    fd = open("p", O_RDONLY | O_NONBLOCK);
    CHECK(tree_on() && fd >= 0 && read(fd, bytes, 4) == 0, "no writer: %s", strerror(errno));
    writer = open("p", O_WRONLY | O_NONBLOCK);
    CHECK(writer >= 0, "%s", strerror(errno));
    GIVES(read(fd, bytes, 4), EAGAIN);
    GIVES(write(writer, "hello", 5), 0);
    CHECK(tree_on() && read(fd, bytes, 16) == 5 && memcmp(bytes, "hello", 5) == 0, "'%s'", bytes);
    GIVES(lseek(fd, 0, SEEK_SET), ESPIPE);
    close(writer);
    CHECK(tree_on() && read(fd, bytes, 4) == 0, "the writer has gone");
    close(fd);
    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            kernels_go(i + 1);
            fd = open("p", O_WRONLY); /* waits for the reader */
            _exit(fd >= 0 && write(fd, "child", 5) == 5 ? 0 : 1);
        }
        kernels_go(i);
        fd = open("p", O_RDONLY); /* waits for the writer */
        CHECK(fd >= 0 && read(fd, bytes, 5) == 5 && memcmp(bytes, "child", 5) == 0, "round %d: '%s'", i, bytes);
        CHECK(read(fd, bytes, 5) == 0, "the end");
        wait(&status);
        CHECK(status == 0, "status %x", status);
        close(fd);
    }
}

#define MEETINGS 200

static struct {
    atomic_int opens, opened; /* calls of open that the reader has begun, and that have returned */
    atomic_int gave_up;       /* openers of the reading end whom a signal has ended */
    atomic_int got;           /* bytes read, by openers who have closed since */
    atomic_bool over;
} * shared;

static void on_alarm(int number)
{
    (void)number;
}

/* Opens the reading end again and again. */
static int open_in_turns(void)
{
    const struct sigaction action = {.sa_handler = on_alarm};

    kernels_go(1);
    if (sigaction(SIGALRM, &action, NULL) != 0)
        return 1;
    while (!shared->over) {
        char byte;
        ssize_t got = -1;
        int fd;

        shared->opens++;
        fd = open("p", O_RDONLY);
        shared->opened++;
        if (fd < 0 && errno != EINTR)
            return 2;
        if (fd < 0) {
            shared->gave_up++;
            continue;
        }
        while (got < 0) {
            got = read(fd, &byte, 1);
            if (got < 0 && errno != EINTR)
                return 3;
        }
        close(fd);
        shared->got += got == 1; /* 0: it was the last writer's, who had not closed it yet */
    }
    return 0;
}

/* READER sleeps in open, and not in a read that may be over. */
static bool is_in_open(pid_t reader)
{
    int opens = shared->opens;

    return shared->opened == opens - 1 && tap_sleeps(reader, reader) && shared->opened == opens - 1;
}

/* A writer that finds the reading end open has met a reader that stays, and not one that is about to give up, as a
 * signal tells it to just then. */
void tree_test_fifo_gives_up(void)
{
    uint64_t random = 5;
    int sent = 0, status = 0;
    pid_t reader, ended;

    tree_begin();
    signal(SIGPIPE, SIG_IGN);
    shared = tap_share(sizeof(*shared));
    GIVES(mkfifo("p", 0644), 0);
    reader = fork();
    if (reader == 0)
        _exit(open_in_turns());
    kernels_go(2);
    for (int i = 0; i < MEETINGS; i++) {
        int fd, gave_up = shared->gave_up;

        UNTIL(is_in_open(reader), "a reader that waits");
        GIVES(kill(reader, SIGALRM), 0);
        for (uint64_t turns = tap_random(&random) % 4 * (tap_random(&random) % 400); turns > 0; turns--)
            atomic_signal_fence(memory_order_seq_cst);
        fd = open("p", O_WRONLY | O_NONBLOCK);
        if (fd >= 0) {
            REQUIRE(write(fd, "x", 1) == 1, "after %d bytes: %s", sent, strerror(errno));
            close(fd);
            sent++;
            UNTIL(shared->got == sent, "the reader that the writer has met");
        } else {
            REQUIRE(errno == ENXIO, "%s", strerror(errno));
            UNTIL(shared->gave_up != gave_up, "the reader that has gone");
        }
    }
    shared->over = true;
    UNTIL((ended = waitpid(reader, &status, WNOHANG)) != 0 || is_in_open(reader), "the reader to wait, or its end");
    if (ended == 0) {
        GIVES(kill(reader, SIGALRM), 0);
        waitpid(reader, &status, 0);
    }
    CHECK(status == 0, "status %x", (unsigned)status);
    tap_note("%d readers were met, %d gave up", sent, shared->gave_up);
    kernels_go(0);
}
