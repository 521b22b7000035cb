/* test-timerfd: timerfd_create(2). No test says how late a timer may be; each says how early it may not be. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define MS 1000000l
#define SECOND 1000000000l

static struct itimerspec spec(long value, long interval)
{
    return (struct itimerspec){{interval / SECOND, interval % SECOND}, {value / SECOND, value % SECOND}};
}

static long now(int clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static long left(int fd)
{
    struct itimerspec setting;

    return timerfd_gettime(fd, &setting) == 0 ? setting.it_value.tv_sec * SECOND + setting.it_value.tv_nsec : -1;
}

static void test_once(void)
{
    static const int clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME};

    for (int i = 0; i < 3; i++) {
        int fd = timerfd_create(clocks[i], TFD_CLOEXEC);
        struct itimerspec setting = spec(20 * MS, 0);
        long begin = now(CLOCK_MONOTONIC), passed;
        uint64_t ticks = 0;

        CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "%s", strerror(errno));
        CHECK(timerfd_settime(fd, 0, &setting, NULL) == 0, "%s", strerror(errno));
        CHECK(read(fd, &ticks, 8) == 8 && ticks == 1, "%lu", ticks);
        passed = now(CLOCK_MONOTONIC) - begin;
        CHECK(passed >= 20 * MS, "after %ld ns", passed);
        CHECK(left(fd) == 0, "%ld", left(fd));
        close(fd);
    }
}

static void test_absolute(void)
{
    static const int clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};

    for (int i = 0; i < 2; i++) {
        int fd = timerfd_create(clocks[i], 0);
        long at = now(clocks[i]) + 20 * MS, is_left;
        struct itimerspec setting = spec(at, 0);
        uint64_t ticks = 0;

        CHECK(timerfd_settime(fd, TFD_TIMER_ABSTIME, &setting, NULL) == 0, "%s", strerror(errno));
        is_left = left(fd);
        CHECK((is_left > 0 || now(clocks[i]) >= at) && is_left <= 20 * MS, "%ld", is_left);
        CHECK(read(fd, &ticks, 8) == 8 && ticks == 1 && now(clocks[i]) >= at, "%lu", ticks);
        setting = spec(1, 0); /* long past */
        CHECK(timerfd_settime(fd, TFD_TIMER_ABSTIME, &setting, NULL) == 0, "%s", strerror(errno));
        CHECK(read(fd, &ticks, 8) == 8 && ticks == 1, "%lu", ticks);
        CHECK(timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &setting, NULL) == 0, "%s",
              strerror(errno));
        close(fd);
    }
}

static void test_interval(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec setting = spec(5 * MS, 10 * MS), old;
    struct pollfd state = {.fd = fd, .events = POLLIN};
    long begin = now(CLOCK_MONOTONIC), passed;
    uint64_t early = 0, ticks = 0, more = 0;

    CHECK(timerfd_settime(fd, 0, &setting, NULL) == 0, "%s", strerror(errno));
    /* A machine that stands still may look for the first time when it has expired, which it has not before its time. */
    if (read(fd, &early, 8) == -1)
        CHECK(errno == EAGAIN, "%s", strerror(errno));
    passed = now(CLOCK_MONOTONIC) - begin;
    CHECK(early == 0 || (long)(early - 1) * 10 * MS + 5 * MS <= passed, "%lu ticks in %ld ns", early, passed);
    CHECK(poll(&state, 1, 60000) == 1 && state.revents == POLLIN, "%#x", state.revents);
    usleep(55000); /* five more expirations at least */
    CHECK(read(fd, &ticks, 8) == 8 && ticks >= 5, "%lu missed ones are counted", ticks);
    CHECK(poll(&state, 1, 60000) == 1, "again");
    CHECK(read(fd, &more, 8) == 8 && more >= 1, "%lu", more);
    passed = now(CLOCK_MONOTONIC) - begin;
    CHECK((long)(early + ticks + more - 1) * 10 * MS + 5 * MS <= passed, "%lu ticks in %ld ns", early + ticks + more,
          passed);
    setting = spec(0, 0);
    CHECK(timerfd_settime(fd, 0, &setting, &old) == 0 && old.it_interval.tv_nsec == 10 * MS, "%s", strerror(errno));
    CHECK(old.it_value.tv_nsec > 0 && old.it_value.tv_nsec <= 10 * MS, "%ld", old.it_value.tv_nsec);
    CHECK_ERROR(read(fd, &ticks, 8), EAGAIN);
    CHECK(left(fd) == 0 && poll(&state, 1, 30) == 0, "it is not armed");
    close(fd);
}

static void test_set_again(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec soon = spec(1 * MS, 0), later = spec(3600 * SECOND, 0), old;
    struct pollfd state = {.fd = fd, .events = POLLIN};
    uint64_t ticks;

    CHECK(timerfd_settime(fd, 0, &soon, NULL) == 0 && poll(&state, 1, 60000) == 1, "%s", strerror(errno));
    CHECK(timerfd_settime(fd, 0, &later, NULL) == 0 && poll(&state, 1, 0) == 0, "what expired is forgotten");
    CHECK_ERROR(read(fd, &ticks, 8), EAGAIN);
    CHECK(timerfd_settime(fd, 0, &soon, &old) == 0 && old.it_value.tv_sec >= 3500, "%ld", old.it_value.tv_sec);
    CHECK(poll(&state, 1, 60000) == 1, "sooner");
    CHECK(timerfd_settime(fd, 0, &later, NULL) == 0, "%s", strerror(errno));
    close(fd); /* armed */
}

static void test_refused(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, 0), ends[2];
    struct itimerspec setting = spec(5, 0);
    uint32_t half;

    CHECK_ERROR(timerfd_create(CLOCK_MONOTONIC, 1), EINVAL);
    CHECK_ERROR(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0), EINVAL);
    CHECK_ERROR(timerfd_settime(fd, 4, &setting, NULL), EINVAL);
    CHECK_ERROR(timerfd_settime(-1, 0, &setting, NULL), EBADF);
    CHECK_ERROR(syscall(SYS_timerfd_settime, fd, 0, TAP_UNMAPPED, NULL), EFAULT);
    setting.it_value.tv_nsec = SECOND;
    CHECK_ERROR(timerfd_settime(fd, 0, &setting, NULL), EINVAL);
    setting.it_value.tv_nsec = 0;
    setting.it_value.tv_sec = -1;
    CHECK_ERROR(timerfd_settime(fd, 0, &setting, NULL), EINVAL);
    CHECK_ERROR(read(fd, &half, sizeof(half)), EINVAL);
    CHECK_ERROR(write(fd, &setting, 8), EINVAL);
    CHECK(pipe(ends) == 0, "%s", strerror(errno));
    setting = spec(5, 0);
    CHECK_ERROR(timerfd_settime(ends[0], 0, &setting, NULL), EINVAL);
    CHECK_ERROR(timerfd_gettime(ends[0], &setting), EINVAL);
    close(ends[0]);
    close(ends[1]);
    close(fd);
}

static int shared;

static void read_ticks(struct thread *thread)
{
    long result = thread_move(*(const int *)thread->argument), sum = 0;

    while (result == 0 && sum < 3) {
        uint64_t ticks = 0;

        if (x86_syscall3(SYS_read, shared, (long)&ticks, 8) != 8)
            result = -1;
        sum += (long)ticks;
    }
    thread->result = result == 0 ? sum : result;
}

static void test_threads(void)
{
    struct itimerspec setting = spec(MS, MS);
    struct thread crew[4];
    int kernels[64];
    int count = tap_kernels(kernels);

    shared = timerfd_create(CLOCK_MONOTONIC, 0);
    for (int i = 0; i < count && i < 4; i++) {
        crew[i] = (struct thread){.argument = &kernels[i]};
        CHECK(thread_start(&crew[i], read_ticks), "%s", strerror(errno));
    }
    for (int i = 0; i < count && i < 4; i++)
        UNTIL(tap_sleeps(0, crew[i].tid_first), "a reader to wait for the timer");
    CHECK(timerfd_settime(shared, 0, &setting, NULL) == 0, "%s", strerror(errno));
    for (int i = 0; i < count && i < 4; i++)
        CHECK(thread_join(&crew[i]) && crew[i].result >= 3, "%ld", atomic_load(&crew[i].result));
    close(shared);
}

static const struct tap_test tests[] = {
    {"once", "a timer expires once, not before its time, on every clock", test_once},
    {"absolute", "an absolute time is of the timer's clock, and one in the past expires at once", test_absolute},
    {"interval", "a timer with an interval counts expirations that nobody has read", test_interval},
    {"set-again", "setting a timer again discards its expirations", test_set_again},
    {"refused", "invalid calls are refused as on Linux", test_refused},
    {"threads", "threads on all kernels wait for one timer", test_threads},
    {"open-files", "nothing is left open", open_files_test},
};

int main(int argc, char **argv)
{
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
