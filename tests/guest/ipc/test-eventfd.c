/* test-eventfd: eventfd(2), used by threads of one process on all kernels, and by a child at home on another. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define CREW 4
#define ROUNDS 300

static int here, there; /* eventfds of the running test */

static short state_of(int fd)
{
    struct pollfd state = {.fd = fd, .events = POLLIN | POLLOUT};

    return poll(&state, 1, 0) >= 0 ? state.revents : -1;
}

static void test_count(void)
{
    int fd = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
    uint64_t value = 0;

    if (!CHECK(fd >= 0, "%s", strerror(errno)))
        return;
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0, "flags");
    CHECK(state_of(fd) == (POLLIN | POLLOUT), "%#x", state_of(fd));
    CHECK(read(fd, &value, sizeof(value)) == 8 && value == 3, "%lu", value);
    CHECK(state_of(fd) == POLLOUT, "%#x", state_of(fd));
    CHECK_ERROR(read(fd, &value, sizeof(value)), EAGAIN);
    value = 5;
    CHECK(write(fd, &value, sizeof(value)) == 8 && write(fd, &value, sizeof(value)) == 8, "%s", strerror(errno));
    CHECK(read(fd, &value, sizeof(value)) == 8 && value == 10, "%lu", value);
    value = 0;
    CHECK(write(fd, &value, sizeof(value)) == 8 && state_of(fd) == POLLOUT, "nothing added");
    CHECK(lseek(fd, 0, SEEK_CUR) == 0, "%s", strerror(errno));
    close(fd);
}

static void test_semaphore(void)
{
    int fd = eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE);
    uint64_t value = 0;

    CHECK(read(fd, &value, sizeof(value)) == 8 && value == 1, "%lu", value);
    CHECK(read(fd, &value, sizeof(value)) == 8 && value == 1, "%lu", value);
    CHECK_ERROR(read(fd, &value, sizeof(value)), EAGAIN);
    close(fd);
}

static void test_overflow(void)
{
    int fd = eventfd(0, EFD_NONBLOCK);
    uint64_t value = UINT64_MAX;

    CHECK_ERROR(write(fd, &value, sizeof(value)), EINVAL);
    value = UINT64_MAX - 1;
    CHECK(write(fd, &value, sizeof(value)) == 8, "%s", strerror(errno));
    CHECK(state_of(fd) == POLLIN, "%#x", state_of(fd));
    value = 1;
    CHECK_ERROR(write(fd, &value, sizeof(value)), EAGAIN);
    CHECK(read(fd, &value, sizeof(value)) == 8 && value == UINT64_MAX - 1, "%lu", value);
    close(fd);
}

static void test_refused(void)
{
    int fd = eventfd(1, 0);
    uint32_t half = 0;

    CHECK_ERROR(eventfd(0, 0x10), EINVAL);
    CHECK_ERROR(read(fd, &half, sizeof(half)), EINVAL);
    CHECK_ERROR(write(fd, &half, sizeof(half)), EINVAL);
    CHECK_ERROR(read(fd, TAP_UNMAPPED, 8), EFAULT);
    close(fd);
    CHECK_ERROR(read(fd, &half, 8), EBADF);
}

/* Adds what it takes from one to the other, until that is 0x1000 or more. */
static void answer(struct thread *thread)
{
    long result = thread_move(*(const int *)thread->argument);
    uint64_t value = 0;

    while (result == 0 && value < 0x1000) {
        if (x86_syscall3(SYS_read, here, (long)&value, 8) != 8 || x86_syscall3(SYS_write, there, (long)&value, 8) != 8)
            result = -1;
    }
    thread->result = result;
}

static void test_threads(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);

    here = eventfd(0, 0);
    there = eventfd(0, 0);
    for (int k = 0; k < count && k < 4; k++) {
        struct thread other = {.argument = &kernels[count - 1 - k]};
        int wrong = 0;

        CHECK(thread_start(&other, answer), "%s", strerror(errno));
        for (uint64_t i = 1; i <= ROUNDS; i++) {
            uint64_t value = i == ROUNDS ? 0x1000 : i, back = 0;

            wrong += write(here, &value, 8) != 8 || read(there, &back, 8) != 8 || back != value;
        }
        CHECK(thread_join(&other) && other.result == 0 && wrong == 0, "%d wrong, thread %ld", wrong,
              atomic_load(&other.result));
    }
    close(here);
    close(there);
}

/* Takes one at a time, and counts, until it takes from the second. */
static void take_some(struct thread *thread)
{
    long result = thread_move(*(const int *)thread->argument), taken = 0;
    uint64_t value;

    while (result == 0 && taken < ROUNDS) {
        if (x86_syscall3(SYS_read, here, (long)&value, 8) != 8 || value != 1)
            result = -1;
        taken++;
    }
    thread->result = result == 0 ? taken : result;
}

static void test_crew(void)
{
    struct thread crew[CREW];
    int kernels[64], to[CREW];
    int count = tap_kernels(kernels);
    uint64_t value = 3;

    here = eventfd(0, EFD_SEMAPHORE);
    for (int i = 0; i < CREW; i++) {
        to[i] = kernels[i % count];
        crew[i] = (struct thread){.argument = &to[i]};
        CHECK(thread_start(&crew[i], take_some), "%s", strerror(errno));
    }
    for (int i = 0; i < CREW * ROUNDS / 3; i++)
        CHECK(write(here, &value, 8) == 8, "%s", strerror(errno));
    for (int i = 0; i < CREW; i++)
        CHECK(thread_join(&crew[i]) && crew[i].result == ROUNDS, "%ld", atomic_load(&crew[i].result));
    CHECK(state_of(here) == POLLOUT, "all were taken");
    close(here);
}

static void test_full_wakes(void)
{
    struct thread other;
    int kernels[64];
    int count = tap_kernels(kernels);
    uint64_t value = UINT64_MAX - 1;

    /* The thread's answer of 0x1000 has to wait until there is room. */
    here = eventfd(0, 0);
    there = eventfd(0, 0);
    CHECK(write(there, &value, 8) == 8, "%s", strerror(errno));
    other = (struct thread){.argument = &kernels[count - 1]};
    CHECK(thread_start(&other, answer), "%s", strerror(errno));
    value = 0x1000;
    CHECK(write(here, &value, 8) == 8, "%s", strerror(errno));
    usleep(20000); /* time to end wrongly */
    CHECK(other.tid != 0, "it has not ended");
    CHECK(read(there, &value, 8) == 8 && value == UINT64_MAX - 1, "%lu", value);
    CHECK(read(there, &value, 8) == 8 && value == 0x1000, "%lu", value);
    CHECK(thread_join(&other) && other.result == 0, "%ld", atomic_load(&other.result));
    close(here);
    close(there);
}

static void test_child(void)
{
    int kernels[64], status = -1;
    int count = tap_kernels(kernels), home = thread_kernel();
    uint64_t value = 7;
    pid_t child;

    here = eventfd(0, 0);
    there = eventfd(0, 0);
    CHECK(thread_move(kernels[count - 1]) == 0, "moved");
    child = fork(); /* at home here */
    if (child == 0) {
        for (int i = 0; i < 20; i++) {
            if (read(here, &value, 8) != 8 || write(there, &value, 8) != 8)
                _exit(1);
        }
        _exit(0);
    }
    CHECK(thread_move(home) == 0, "back");
    for (uint64_t i = 1; i <= 20; i++) {
        value = i;
        CHECK(write(here, &value, 8) == 8 && read(there, &value, 8) == 8 && value == i, "%lu", value);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    close(here);
    close(there);
}

static const struct tap_test tests[] = {
    {"count", "writes add up, and one read takes the sum", test_count},
    {"semaphore", "a read of a semaphore takes one", test_semaphore},
    {"overflow", "a write that would overflow is EAGAIN and changes nothing", test_overflow},
    {"refused", "invalid calls are refused as on Linux", test_refused},
    {"threads", "two threads on any kernels hand numbers to each other", test_threads},
    {"crew", "readers on all kernels share the values, and none is lost", test_crew},
    {"full-wakes", "a writer waits until there is room", test_full_wakes},
    {"child", "a child at home on another kernel uses the same counter", test_child},
    {"open-files", "nothing is left open", open_files_test},
};

int main(int argc, char **argv)
{
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
