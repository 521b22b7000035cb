/* test-mqueue: POSIX message queues (mq_overview(7)) between processes on all kernels. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

#define NAME "/test-mqueue"

static mqd_t make(int flags, long count)
{
    struct mq_attr attr = {.mq_maxmsg = count, .mq_msgsize = 16};
    mqd_t queue = mq_open(NAME, O_RDWR | O_CREAT | O_EXCL | flags, 0600, &attr);

    CHECK(queue >= 0, "%s", strerror(errno));
    return queue;
}

static void test_order(void)
{
    struct mq_attr attr;
    char text[16];
    unsigned priority;

    for (int k = 0; k < kernels_count(); k++) {
        mqd_t queue, other;

        kernels_go(k);
        queue = make(O_NONBLOCK, 3);
        CHECK_ERROR(mq_open(NAME, O_RDWR | O_CREAT | O_EXCL, 0600, NULL), EEXIST);
        CHECK(mq_send(queue, "a", 2, 1) == 0 && mq_send(queue, "b", 2, 7) == 0 && mq_send(queue, "c", 2, 1) == 0, "%s",
              strerror(errno));
        CHECK_ERROR(mq_send(queue, "d", 2, 1), EAGAIN);
        CHECK_ERROR(mq_send(queue, text, 17, 1), EMSGSIZE);
        CHECK_ERROR(mq_send(queue, text, 1, 32768), EINVAL);
        kernels_go(k + 1);
        other = mq_open(NAME, O_RDONLY);
        CHECK(fcntl(other, F_GETFD) == FD_CLOEXEC, "whatever was asked for");
        CHECK(other >= 0 && mq_getattr(other, &attr) == 0 && attr.mq_curmsgs == 3 && attr.mq_maxmsg == 3 &&
                  attr.mq_msgsize == 16 && attr.mq_flags == 0,
              "%s", strerror(errno));
        CHECK_ERROR(mq_send(other, "d", 2, 1), EBADF);
        CHECK_ERROR(mq_receive(other, text, 15, NULL), EMSGSIZE);
        for (int i = 0; i < 3; i++)
            CHECK(mq_receive(other, text, 16, &priority) == 2 && text[0] == "bac"[i] && priority == (i == 0 ? 7 : 1),
                  "%c", text[0]);
        CHECK_ERROR(mq_receive(queue, text, 16, NULL), EAGAIN);
        CHECK(mq_unlink(NAME) == 0 && mq_close(other) == 0, "%s", strerror(errno));
        CHECK(mq_send(queue, "e", 2, 0) == 0 && mq_close(queue) == 0, "without its name");
        CHECK_ERROR(mq_open(NAME, O_RDONLY), ENOENT);
        CHECK_ERROR(mq_unlink(NAME), ENOENT);
    }
}

/* A writer on one kernel, a reader on another; the queue holds two. */
static void test_waits(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        mqd_t queue = make(0, 2);
        struct pollfd poller = {.fd = queue, .events = POLLIN};
        int status;
        pid_t child = fork();

        if (child == 0) {
            kernels_go(k);
            for (int i = 0; i < 30; i++) {
                if (mq_send(queue, (char *)&i, sizeof(i), 0) != 0)
                    _exit(1);
            }
            _exit(0);
        }
        kernels_go(k + 1);
        CHECK(poll(&poller, 1, -1) == 1 && (poller.revents & POLLIN) != 0, "%x", poller.revents);
        for (int i = 0; i < 30; i++) {
            char text[16];
            int got = -1;

            CHECK(mq_receive(queue, text, 16, NULL) == sizeof(got), "%s", strerror(errno));
            memcpy(&got, text, sizeof(got));
            CHECK(got == i, "%d, not %d", got, i);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
        CHECK(mq_unlink(NAME) == 0 && mq_close(queue) == 0, "%s", strerror(errno));
    }
}

static void test_time(void)
{
    struct timespec time;
    struct mq_attr attr;
    char text[16];
    mqd_t queue = make(0, 1);

    clock_gettime(CLOCK_REALTIME, &time);
    CHECK_ERROR(mq_timedreceive(queue, text, 16, NULL, &time), ETIMEDOUT);
    time.tv_nsec = -1;
    CHECK_ERROR(mq_timedreceive(queue, text, 16, NULL, &time), EINVAL);
    CHECK(mq_send(queue, "a", 2, 0) == 0, "%s", strerror(errno));
    clock_gettime(CLOCK_REALTIME, &time);
    CHECK_ERROR(mq_timedsend(queue, "b", 2, 0, &time), ETIMEDOUT);
    CHECK(mq_getattr(queue, &attr) == 0 && attr.mq_curmsgs == 1, "%ld messages, one was sent", attr.mq_curmsgs);
    CHECK(mq_unlink(NAME) == 0 && mq_close(queue) == 0, "%s", strerror(errno));
}

static void test_notify(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int k = 0; k < kernels_count(); k++) {
        mqd_t queue = make(O_NONBLOCK, 2);
        siginfo_t info;
        int status;
        pid_t child;

        kernels_go(k);
        event.sigev_value.sival_int = 40 + k;
        CHECK(mq_notify(queue, &event) == 0, "%s", strerror(errno));
        CHECK_ERROR(mq_notify(queue, &event), EBUSY);
        child = fork();
        if (child == 0) {
            kernels_go(k + 1);
            _exit(mq_send(queue, "a", 2, 0) == 0 && mq_send(queue, "b", 2, 0) == 0 ? 0 : 1);
        }
        CHECK(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_code == SI_MESGQ && info.si_value.sival_int == 40 + k &&
                  info.si_pid == child,
              "code %d, value %d", info.si_code, info.si_value.sival_int);
        CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
        CHECK(mq_notify(queue, &event) == 0 && mq_notify(queue, NULL) == 0 && mq_notify(queue, &event) == 0, "once");
        CHECK(mq_unlink(NAME) == 0 && mq_close(queue) == 0, "%s", strerror(errno));
    }
}

/* Who found nothing, and does not wait for it any more, is nobody who receives. */
static void test_notify_after(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct timespec now, limit = {.tv_sec = 20};
    char text[16];
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int k = 0; k < 2 * kernels_count(); k++) {
        mqd_t queue = make(k % 2 == 0 ? O_NONBLOCK : 0, 2);

        kernels_go(k / 2);
        CHECK(mq_notify(queue, &event) == 0, "%s", strerror(errno));
        clock_gettime(CLOCK_REALTIME, &now);
        if (k % 2 == 0) {
            CHECK_ERROR(mq_receive(queue, text, 16, NULL), EAGAIN);
        } else {
            now.tv_nsec += now.tv_nsec < 900000000 ? 50000000 : 0;
            CHECK_ERROR(mq_timedreceive(queue, text, 16, NULL, &now), ETIMEDOUT);
        }
        kernels_go(k / 2 + 1);
        CHECK(mq_send(queue, "a", 2, 0) == 0, "%s", strerror(errno));
        CHECK(sigtimedwait(&set, NULL, &limit) == SIGUSR1, "%d: %s", k, strerror(errno));
        CHECK(mq_unlink(NAME) == 0 && mq_close(queue) == 0, "%s", strerror(errno));
    }
}

static void interrupt(int number)
{
    (void)number;
}

/* A message that is sent before the signal is received, however far the receiver is by then. */
static void test_served(void)
{
    struct sigaction action = {.sa_handler = interrupt};

    sigaction(SIGUSR1, &action, NULL);
    for (int turn = 0; turn < 100; turn++) {
        mqd_t queue = make(0, 2);
        atomic_int *ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        struct mq_attr attr;
        int status;
        pid_t child = fork();

        if (child == 0) {
            char text[16];

            kernels_go(turn);
            atomic_store(ready, 1);
            _exit(mq_receive(queue, text, 16, NULL) == 2 && text[0] == 'a' ? 0 : errno);
        }
        while (atomic_load(ready) == 0)
            sched_yield();
        for (int i = 0; i < turn / kernels_count(); i++)
            sched_yield();
        CHECK(mq_send(queue, "a", 2, 0) == 0 && kill(child, SIGUSR1) == 0, "%s", strerror(errno));
        CHECK(waitpid(child, &status, 0) == child && status == 0, "turn %d: status %x", turn, status);
        CHECK(mq_getattr(queue, &attr) == 0 && attr.mq_curmsgs == 0, "%ld messages are left", attr.mq_curmsgs);
        CHECK(mq_unlink(NAME) == 0 && mq_close(queue) == 0 && munmap(ready, 4096) == 0, "%s", strerror(errno));
    }
    signal(SIGUSR1, SIG_DFL);
}

/* Who has closed the queue, by whichever descriptor, or has ended, is not told of anything: another may be. */
static void test_notify_ends(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct timespec limit = {.tv_sec = 20};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int k = 0; k < kernels_count(); k++) {
        mqd_t queue = make(O_NONBLOCK, 2), other;
        int status;
        pid_t child;

        kernels_go(k);
        for (int how = 0; how < 3; how++) {
            child = fork();
            if (child == 0) {
                kernels_go(k + 1 + how);
                if (mq_notify(queue, &event) != 0)
                    _exit(1);
                if (how == 2)
                    kill(getpid(), SIGKILL);
                if (how == 1)
                    _exit(0);
                other = (mqd_t)dup((int)queue);
                if (mq_close(other) != 0 || mq_notify(queue, &event) != 0 || dup2(0, (int)queue) != (int)queue)
                    _exit(2);
                _exit(0);
            }
            CHECK(waitpid(child, &status, 0) == child && status == (how == 2 ? SIGKILL : 0), "status %x", status);
            CHECK(mq_notify(queue, &event) == 0, "%d: %s", how, strerror(errno));
            CHECK(mq_notify(queue, NULL) == 0, "%s", strerror(errno));
        }
        CHECK(mq_notify(queue, &event) == 0, "%s", strerror(errno));
        child = fork(); /* it closes what it never asked for */
        if (child == 0)
            _exit(mq_close(queue) == 0 ? 0 : 1);
        CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
        CHECK_ERROR(mq_notify(queue, &event), EBUSY);
        CHECK(mq_send(queue, "a", 2, 0) == 0 && sigtimedwait(&set, NULL, &limit) == SIGUSR1, "%s", strerror(errno));
        CHECK(mq_unlink(NAME) == 0 && mq_close(queue) == 0, "%s", strerror(errno));
    }
}

static bool is_asleep(pid_t pid)
{
    char name[64], text[512] = "";
    const char *end;
    int fd;

    snprintf(name, sizeof(name), "/proc/%d/stat", pid);
    fd = open(name, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    close(fd);
    end = strrchr(text, ')');
    return end != NULL && end[2] == 'S';
}

/* Four wait to receive, each at home on another kernel. The status of each is the message that it got. */
static void test_lines(void)
{
    static const int nice_values[4] = {3, 0, 5, 0};
    atomic_int *ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    for (int k = 0; k < kernels_count(); k++) {
        mqd_t queue = make(0, 4);
        pid_t children[4];
        struct mq_attr attr;

        atomic_store(ready, 0);
        for (int i = 0; i < 4; i++) {
            kernels_go(k + i);
            children[i] = fork();
            if (children[i] == 0) {
                char text[16] = "";

                setpriority(PRIO_PROCESS, 0, nice_values[i]);
                mq_getattr(queue, &attr); /* nothing but the queue is to be waited for from now on */
                atomic_fetch_add(ready, 1);
                _exit(mq_receive(queue, text, 16, NULL) == 2 ? text[0] : 1);
            }
            while (atomic_load(ready) <= i || !is_asleep(children[i]))
                sched_yield();
            CHECK(mq_getattr(queue, &attr) == 0, "this question comes after the child's, of the same kernel");
        }
        for (int i = 0; i < 4; i++)
            CHECK(mq_send(queue, (char[2]){(char)('a' + i)}, 2, 0) == 0, "%s", strerror(errno));
        for (int i = 0; i < 4; i++) {
            int status = 0;

            CHECK(waitpid(children[i], &status, 0) == children[i] && WEXITSTATUS(status) == "cadb"[i],
                  "kernel %d: child %d of nice value %d got %c", k, i, nice_values[i], WEXITSTATUS(status));
        }
        CHECK(mq_unlink(NAME) == 0 && mq_close(queue) == 0, "%s", strerror(errno));
    }
    munmap(ready, 4096);
}

static void test_names(void)
{
    CHECK_ERROR(mq_open("/.", O_RDWR | O_CREAT, 0600, NULL), EACCES);
    CHECK_ERROR(mq_open("/..", O_RDWR | O_CREAT, 0600, NULL), EACCES);
    CHECK_ERROR(mq_open("/a/b", O_RDWR | O_CREAT, 0600, NULL), EACCES);
}

static const struct tap_test tests[] = {
    {"order", "messages are received by priority, and in order within one", test_order},
    {"waits", "a writer and a reader on two kernels wait for each other", test_waits},
    {"time", "a wait ends at its timeout", test_time},
    {"notify", "mq_notify signals the first message of an empty queue", test_notify},
    {"notify-after", "mq_notify signals when a waiting receiver has given up", test_notify_after},
    {"notify-ends", "a process that has closed the queue, or ended, is not notified", test_notify_ends},
    {"served", "a message that is sent before a signal comes is received", test_served},
    {"lines", "who waits is served by nice value, then in order", test_lines},
    {"names", "invalid names are refused", test_names},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
