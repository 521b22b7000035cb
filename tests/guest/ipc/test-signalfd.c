/* test-signalfd: signalfd(2). The signals are those of the caller, wherever the descriptor was made. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define ROUNDS 100

static int make(int flags)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigdelset(&set, SIGUSR2);
    return signalfd(-1, &set, flags);
}

static void test_read(void)
{
    int fd = make(SFD_NONBLOCK | SFD_CLOEXEC);
    struct signalfd_siginfo info[3];
    struct pollfd state = {.fd = fd, .events = POLLIN};

    if (!CHECK(fd >= 0, "%s", strerror(errno)))
        return;
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "%s", strerror(errno));
    CHECK_ERROR(read(fd, info, sizeof(info)), EAGAIN);
    CHECK(poll(&state, 1, 0) == 0, "%#x", state.revents);
    CHECK(kill(getpid(), SIGUSR2) == 0 && poll(&state, 1, 0) == 0, "not of the set");
    CHECK(kill(getpid(), SIGUSR1) == 0 && poll(&state, 1, 60000) == 1 && state.revents == POLLIN, "%#x", state.revents);
    CHECK(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 41}) == 0, "%s", strerror(errno));
    CHECK(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 42}) == 0, "%s", strerror(errno));
    CHECK(read(fd, info, 2 * sizeof(info[0]) + 5) == 2 * sizeof(info[0]), "%s", strerror(errno));
    CHECK(info[0].ssi_signo == SIGUSR1 && info[0].ssi_pid == (uint32_t)getpid() && info[0].ssi_code == SI_USER,
          "%u of %u", info[0].ssi_signo, info[0].ssi_pid);
    CHECK(info[1].ssi_signo == (uint32_t)SIGRTMIN && info[1].ssi_int == 41 && info[1].ssi_code == SI_QUEUE, "%u %d",
          info[1].ssi_signo, info[1].ssi_int);
    CHECK(read(fd, info, sizeof(info)) == sizeof(info[0]) && info[0].ssi_int == 42, "%d", info[0].ssi_int);
    CHECK_ERROR(read(fd, info, sizeof(info)), EAGAIN);
    close(fd);
}

static void test_own(void)
{
    int fd = make(SFD_NONBLOCK);
    struct signalfd_siginfo info;

    CHECK(raise(SIGUSR1) == 0, "%s", strerror(errno)); /* to the thread */
    CHECK(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR1 && info.ssi_code == SI_TKILL, "%s",
          strerror(errno));
    close(fd);
}

static void test_change(void)
{
    int fd = make(SFD_NONBLOCK), ends[2];
    struct signalfd_siginfo info;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGKILL); /* is left out */
    CHECK(kill(getpid(), SIGUSR2) == 0, "%s", strerror(errno));
    CHECK_ERROR(read(fd, &info, sizeof(info)), EAGAIN);
    CHECK(signalfd(fd, &set, 0) == fd, "%s", strerror(errno));
    CHECK(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR2, "%u", info.ssi_signo);
    CHECK_ERROR(read(fd, &info, sizeof(info) - 1), EINVAL);
    CHECK_ERROR(write(fd, &info, sizeof(info)), EINVAL);
    CHECK_ERROR(signalfd(-1, &set, 4), EINVAL);
    CHECK_ERROR(signalfd(-2, &set, 0), EBADF);
    CHECK_ERROR(syscall(SYS_signalfd4, -1, &set, 16, 0), EINVAL);
    CHECK_ERROR(syscall(SYS_signalfd4, -1, TAP_UNMAPPED, 8, 0), EFAULT);
    CHECK(pipe(ends) == 0, "%s", strerror(errno));
    CHECK_ERROR(signalfd(ends[0], &set, 0), EINVAL);
    close(ends[0]);
    close(ends[1]);
    close(fd);
}

static void test_child(void)
{
    int fd = make(0);
    struct signalfd_siginfo info;
    pid_t child = fork();

    if (child == 0)
        _exit(3);
    CHECK(read(fd, &info, sizeof(info)) == sizeof(info), "%s", strerror(errno));
    CHECK(info.ssi_signo == SIGCHLD && info.ssi_pid == (uint32_t)child && info.ssi_status == 3 &&
              info.ssi_code == CLD_EXITED,
          "%u of %u: %d", info.ssi_signo, info.ssi_pid, info.ssi_status);
    CHECK(waitpid(child, NULL, 0) == child, "%s", strerror(errno));
    close(fd);
}

static int shared;
static atomic_int answered;

/* Reads signals, in turn by read, poll and epoll, and counts them. */
static void read_signals(struct thread *thread)
{
    long result = thread_move(*(const int *)thread->argument);
    struct signalfd_siginfo info;
    struct pollfd state = {.fd = shared, .events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN};
    long epoll = x86_syscall1(SYS_epoll_create1, 0);

    if (x86_syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_ADD, shared, (long)&event, 0, 0) != 0)
        result = -2;
    for (int i = 0; result == 0 && i < ROUNDS; i++) {
        if (i % 3 == 1 && x86_syscall3(SYS_poll, (long)&state, 1, -1) != 1)
            result = -3;
        if (i % 3 == 2 && x86_syscall(SYS_epoll_wait, epoll, (long)&event, 1, -1, 0, 0) != 1)
            result = -4;
        if (x86_syscall3(SYS_read, shared, (long)&info, sizeof(info)) != sizeof(info) ||
            info.ssi_signo != (uint32_t)SIGRTMIN || info.ssi_int != i)
            result = -5;
        answered++;
    }
    x86_syscall1(SYS_close, epoll);
    thread->result = result;
}

static void test_threads(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);

    shared = make(0);
    for (int k = 0; k < count && k < 4; k++) {
        struct thread other = {.argument = &kernels[count - 1 - k]};

        answered = 0;
        CHECK(thread_start(&other, read_signals), "%s", strerror(errno));
        for (int i = 0; i < ROUNDS; i++) {
            CHECK(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}) == 0, "%s", strerror(errno));
            if (!CHECK(thread_wait(&answered, i + 1), "signal %d is lost, thread %ld", i, atomic_load(&other.result)))
                exit(1);
        }
        CHECK(thread_join(&other) && other.result == 0, "%ld", atomic_load(&other.result));
    }
    close(shared);
}

static void test_epoll(void)
{
    int fd = make(SFD_NONBLOCK), epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 9};
    struct signalfd_siginfo info;

    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "%s", strerror(errno));
    CHECK(epoll_wait(epoll, &event, 1, 0) == 0, "none yet");
    CHECK(kill(getpid(), SIGUSR1) == 0 && epoll_wait(epoll, &event, 1, 60000) == 1, "%s", strerror(errno));
    CHECK(event.events == EPOLLIN && event.data.u64 == 9, "%#x", event.events);
    CHECK(epoll_wait(epoll, &event, 1, 0) == 1, "it is there still");
    CHECK(read(fd, &info, sizeof(info)) == sizeof(info) && epoll_wait(epoll, &event, 1, 0) == 0, "taken");
    close(fd);
    close(epoll);
}

static const struct tap_test tests[] = {
    {"read", "signals of the set are read in order with what they carry", test_read},
    {"own", "a signal to the thread is read by it", test_own},
    {"change", "the set can be changed, and what cannot be is refused", test_change},
    {"child", "the end of a child is read", test_child},
    {"epoll", "epoll says that a signal is pending", test_epoll},
    {"threads", "a thread on any kernel reads the process's signals", test_threads},
    {"open-files", "nothing is left open", open_files_test},
};

int main(int argc, char **argv)
{
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
