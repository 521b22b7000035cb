/* test-file-locks: locks on files, between processes on all kernels. The files have no names. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

static int make(void)
{
    int fd = memfd_create("test", 0);

    CHECK(fd >= 0 && ftruncate(fd, 1000) == 0, "%s", strerror(errno));
    return fd;
}

static int lock(int fd, int command, int type, long start, long length)
{
    struct flock range = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};

    return fcntl(fd, command, &range);
}

/* What the first lock in the way is: its type, and *RANGE. */
static int look(int fd, int type, long start, long length, struct flock *range)
{
    *range = (struct flock){.l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    return fcntl(fd, F_GETLK, range) == 0 ? range->l_type : -1;
}

/* A child whose end tells of the expectations that it had. */
struct child_look {
    int fd;
    pid_t parent;
};

static int child_ranges(void *context)
{
    const struct child_look *c = context;
    struct flock range;

    kernels_go(2);
    if (lock(c->fd, F_SETLK, F_WRLCK, 15, 1) == 0 || (errno != EAGAIN && errno != EACCES))
        return 1;
    if (lock(c->fd, F_SETLK, F_RDLCK, 30, 5) != 0)
        return 2;
    if (lock(c->fd, F_SETLK, F_WRLCK, 30, 5) == 0)
        return 3;
    if (look(c->fd, F_WRLCK, 0, 0, &range) != F_WRLCK || range.l_start != 10 || range.l_len != 10 ||
        range.l_pid != c->parent || range.l_whence != SEEK_SET)
        return 4;
    if (look(c->fd, F_RDLCK, 20, 0, &range) != F_UNLCK)
        return 5;
    if (look(c->fd, F_WRLCK, 25, 0, &range) != F_RDLCK || range.l_start != 30 || range.l_len != 0)
        return 6;
    return lock(c->fd, F_SETLK, F_WRLCK, 20, 10) == 0 ? 0 : 7;
}

static void test_ranges(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        struct child_look c = {make(), getpid()};
        struct flock range;
        int end;

        kernels_go(k);
        CHECK(lock(c.fd, F_SETLK, F_WRLCK, 10, 10) == 0, "%s", strerror(errno));
        CHECK(lock(c.fd, F_SETLK, F_RDLCK, 30, 0) == 0, "%s", strerror(errno));
        CHECK(look(c.fd, F_WRLCK, 0, 0, &range) == F_UNLCK, "one's own lock is in the way");
        kernels_go(k + 1);
        end = tap_fork(child_ranges, &c);
        CHECK(end == 0, "the child on %d: %d", k, end);
        CHECK(lock(c.fd, F_SETLK, F_WRLCK, 0, 0) == 0, "what the child had is there: %s", strerror(errno));
        close(c.fd);
    }
    kernels_go(0);
}

static int child_parts(void *context)
{
    const struct child_look *c = context;

    for (long at = 0; at < 100; at += 10) {
        bool free = (at >= 30 && at < 50) || at == 90;

        if ((lock(c->fd, F_SETLK, F_WRLCK, at, 10) == 0) != free)
            return 1 + (int)at;
    }
    return 0;
}

/* Parts of a range are given back, and joined again. */
static void test_parts(void)
{
    struct child_look c = {make(), getpid()};
    struct flock range = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 50, .l_len = -10};
    int end;

    CHECK(lock(c.fd, F_SETLK, F_WRLCK, 0, 50) == 0 && lock(c.fd, F_SETLK, F_WRLCK, 50, 40) == 0, "%s", strerror(errno));
    CHECK(lock(c.fd, F_SETLK, F_UNLCK, 30, 10) == 0, "%s", strerror(errno));
    CHECK(fcntl(c.fd, F_SETLK, &range) == 0, "a negative length: %s", strerror(errno));
    kernels_go(1);
    end = tap_fork(child_parts, &c);
    CHECK(end == 0, "byte %d", end - 1);
    kernels_go(0);
    close(c.fd);
}

static int child_free(void *context)
{
    const struct child_look *c = context;

    kernels_go(1);
    return lock(c->fd, F_SETLK, F_WRLCK, 0, 0) == 0 ? 0 : 1;
}

static int child_taken(void *context)
{
    return child_free(context) == 1 && (errno == EAGAIN || errno == EACCES) ? 0 : 1;
}

static int child_locks(void *context)
{
    const struct child_look *c = context;

    kernels_go(3);
    return lock(c->fd, F_SETLK, F_WRLCK, 0, 0) == 0 ? 0 : 1;
}

/* FD is above what the process may have: it stays, and so do locks. */
static void expect_no_dup2(int fd)
{
    struct rlimit all, few;

    CHECK(getrlimit(RLIMIT_NOFILE, &all) == 0, "%s", strerror(errno));
    few = (struct rlimit){.rlim_cur = (rlim_t)fd, .rlim_max = all.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0, "%s", strerror(errno));
    CHECK_ERROR(dup2(0, fd), EBADF);
    CHECK(setrlimit(RLIMIT_NOFILE, &all) == 0, "%s", strerror(errno));
}

static void test_close(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        struct child_look c = {make(), getpid()};
        int second = dup(c.fd);

        kernels_go(k);
        CHECK(lock(c.fd, F_SETLK, F_WRLCK, 0, 0) == 0, "%s", strerror(errno));
        CHECK(tap_fork(child_taken, &c) == 0, "a child has the lock");
        close(second);
        CHECK(tap_fork(child_free, &c) == 0, "any close gives back what the process has");
        CHECK(tap_fork(child_locks, &c) == 0 && lock(c.fd, F_SETLK, F_WRLCK, 0, 0) == 0,
              "an end gives back what the process had: %s", strerror(errno));
        second = fcntl(c.fd, F_DUPFD, 100);
        CHECK(second >= 100 && dup2(0, second) == second, "%s", strerror(errno));
        CHECK(tap_fork(child_free, &c) == 0, "so does a dup2 over it");
        CHECK(lock(c.fd, F_SETLK, F_WRLCK, 0, 0) == 0 && dup2(c.fd, second) == second && dup(c.fd) >= 0, "%s",
              strerror(errno));
        expect_no_dup2(second);
        CHECK(tap_fork(child_taken, &c) == 0, "a child has the lock again");
        CHECK(syscall(SYS_close_range, (unsigned)second, ~0u, 0) == 0, "%s", strerror(errno));
        CHECK(fcntl(second, F_GETFD) == -1 && fcntl(c.fd, F_GETFD) == 0, "close_range");
        CHECK(tap_fork(child_free, &c) == 0, "and a close_range");
        CHECK(syscall(SYS_close_range, (unsigned)c.fd, ~0u, 0) == 0 && fcntl(c.fd, F_GETFD) == -1, "%s",
              strerror(errno));
    }
    kernels_go(0);
}

/* Two open files of one file. */
static void test_close_other(void)
{
    const char *name = "/tmp/test-file-locks";

    for (int k = 0; k < kernels_count(); k++) {
        struct child_look c = {open(name, O_RDWR | O_CREAT, 0600), getpid()};

        kernels_go(k);
        CHECK(c.fd >= 0 && lock(c.fd, F_SETLK, F_WRLCK, 0, 0) == 0, "%s", strerror(errno));
        CHECK(tap_fork(child_taken, &c) == 0, "a child has the lock");
        CHECK(close(open(name, O_RDONLY)) == 0, "%s", strerror(errno));
        CHECK(tap_fork(child_free, &c) == 0, "a close of another open file gives back what the process has");
        close(c.fd);
    }
    kernels_go(0);
    CHECK(unlink(name) == 0, "%s", strerror(errno));
}

static void test_errors(void)
{
    int fd = make();
    struct flock range = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    kernels_go(1);
    CHECK_ERROR(lock(-1, F_SETLK, F_RDLCK, 0, 0), EBADF);
    CHECK_ERROR(lock(fd, F_SETLK, 7, 0, 0), EINVAL);
    CHECK_ERROR(lock(fd, F_SETLK, F_RDLCK, -1, 0), EINVAL);
    CHECK_ERROR(lock(fd, F_SETLK, F_RDLCK, 5, -6), EINVAL);
    CHECK_ERROR(lock(fd, F_GETLK, F_UNLCK, 0, 0), EINVAL);
    CHECK_ERROR(lock(fd, F_SETLK, F_RDLCK, INT64_MAX, 2), EOVERFLOW);
    range.l_whence = 9;
    CHECK_ERROR(fcntl(fd, F_SETLK, &range), EINVAL);
    range.l_whence = SEEK_SET;
    range.l_pid = 1;
    CHECK_ERROR(fcntl(fd, F_OFD_SETLK, &range), EINVAL);
    CHECK_ERROR(fcntl(fd, F_SETLK, TAP_UNMAPPED), EFAULT);
    CHECK_ERROR(flock(fd, 0), EINVAL);
    CHECK_ERROR(flock(-1, LOCK_SH), EBADF);
    kernels_go(0);
    close(fd);
}

/* --- waiting --- */

#define ADDS 40

static int child_adds(void *context)
{
    const struct child_look *c = context;
    long value;

    for (int i = 0; i < ADDS; i++) {
        if (lock(c->fd, F_SETLKW, F_WRLCK, 0, 8) != 0 || pread(c->fd, &value, 8, 0) != 8)
            return 1;
        value++;
        if (i % 8 == 0)
            sched_yield();
        if (pwrite(c->fd, &value, 8, 0) != 8 || lock(c->fd, F_SETLK, F_UNLCK, 0, 8) != 0)
            return 2;
    }
    return 0;
}

static int child_adds_behind(void *context)
{
    const struct child_look *c = context;
    long value;

    for (int i = 0; i < ADDS; i++) {
        if (lock(c->fd, F_SETLKW, F_WRLCK, 100, 8) != 0 || pread(c->fd, &value, 8, 8) != 8)
            return 1;
        value++;
        if (pwrite(c->fd, &value, 8, 8) != 8 || lock(c->fd, F_SETLKW, F_UNLCK, 100, 0) != 0)
            return 2;
    }
    return 0;
}

/* Processes on all kernels add to a number under a lock: no addition is lost. */
static void test_waiting(void)
{
    struct child_look c = {make(), getpid()};
    int count = kernels_count() * 2, status;
    pid_t children[2 * KERNELS_MAX];
    long values[2] = {0};

    for (int i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            kernels_go(i);
            _exit(i % 2 == 0 ? child_adds(&c) : child_adds_behind(&c));
        }
    }
    for (int i = 0; i < count; i++)
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0, "child %d: %x", i, status);
    CHECK(pread(c.fd, values, 16, 0) == 16 && values[0] == count / 2 * ADDS && values[1] == count / 2 * ADDS,
          "%ld and %ld", values[0], values[1]);
    close(c.fd);
}

static void nothing(int signal)
{
    (void)signal;
}

static int child_interrupted(void *context)
{
    const struct child_look *c = context;
    struct sigaction action = {.sa_handler = nothing};
    struct itimerval often = {{0, 200000}, {0, 200000}}; /* the first may come before the call */

    kernels_go(2);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    if (lock(c->fd, F_SETLKW, F_WRLCK, 0, 0) == 0 || errno != EINTR)
        return 1;
    memset(&often, 0, sizeof(often));
    setitimer(ITIMER_REAL, &often, NULL);
    return flock(c->fd, LOCK_EX) == 0 ? 0 : 2; /* the same open file as the parent's */
}

static void test_interrupted(void)
{
    struct child_look c = {make(), getpid()};

    CHECK(lock(c.fd, F_SETLK, F_RDLCK, 3, 1) == 0 && flock(c.fd, LOCK_EX) == 0, "%s", strerror(errno));
    CHECK(tap_fork(child_interrupted, &c) == 0, "a signal ends the waiting");
    close(c.fd);
}

/* Has byte 1, waits for byte 0, which the parent has. */
static int child_circle(void *context)
{
    const struct child_look *c = context;
    char byte = 'r';

    kernels_go(1);
    if (lock(c->fd, F_SETLK, F_WRLCK, 1, 1) != 0 || pwrite(c->fd, &byte, 1, 50) != 1)
        return 1;
    return lock(c->fd, F_SETLKW, F_WRLCK, 0, 1) == 0 ? 0 : errno == EDEADLK ? 2 : 3;
}

static void test_deadlock(void)
{
    struct child_look c = {make(), getpid()};
    int status = 0, result = 0;
    siginfo_t info = {.si_pid = 0};
    pid_t child;
    char byte = 0;

    CHECK(lock(c.fd, F_SETLK, F_WRLCK, 0, 1) == 0, "%s", strerror(errno));
    child = fork();
    if (child == 0)
        _exit(child_circle(&c));
    while (byte != 'r' && waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != child) {
        sched_yield();
        CHECK(pread(c.fd, &byte, 1, 50) == 1, "%s", strerror(errno));
    }
    UNTIL(tap_sleeps(child, child) ||
              (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child),
          "the child to wait for a lock");
    result = lock(c.fd, F_SETLKW, F_WRLCK, 1, 1);
    if (result == -1)
        CHECK(errno == EDEADLK, "%s", strerror(errno));
    CHECK(lock(c.fd, F_SETLK, F_UNLCK, 0, 1) == 0, "%s", strerror(errno));
    /* one of the two is told: the parent, unless the child had to begin its call again, as it may when kernels stop */
    CHECK(waitpid(child, &status, 0) == child && status == (result == -1 ? 0 : 2 << 8), "%d, and the child: %x", result,
          status);
    CHECK(lock(c.fd, F_SETLKW, F_WRLCK, 0, 0) == 0, "when the child has ended: %s", strerror(errno));
    close(c.fd);
}

/* --- of open files --- */

static int child_same_file(void *context)
{
    const struct child_look *c = context;

    kernels_go(2);
    if (lock(c->fd, F_OFD_SETLK, F_WRLCK, 0, 10) != 0) /* it has what its parent has */
        return 1;
    if (lock(c->fd, F_SETLK, F_WRLCK, 0, 10) == 0) /* which is not the process's */
        return 2;
    return flock(c->fd, LOCK_EX | LOCK_NB) == 0 ? 0 : 3;
}

static void test_open_files(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        struct child_look c = {make(), getpid()};
        struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int second = dup(c.fd);

        kernels_go(k);
        CHECK(lock(c.fd, F_OFD_SETLK, F_WRLCK, 0, 100) == 0 && flock(c.fd, LOCK_SH) == 0, "%s", strerror(errno));
        CHECK(tap_fork(child_same_file, &c) == 0, "the child");
        CHECK(fcntl(c.fd, F_GETLK, &range) == 0 && range.l_type == F_WRLCK && range.l_pid == -1, "pid %d", range.l_pid);
        close(second);
        CHECK_ERROR(lock(c.fd, F_SETLK, F_RDLCK, 50, 1), EAGAIN);
        CHECK(lock(c.fd, F_OFD_SETLK, F_UNLCK, 0, 0) == 0 && lock(c.fd, F_SETLK, F_RDLCK, 50, 1) == 0, "%s",
              strerror(errno));
        CHECK(flock(c.fd, LOCK_UN) == 0, "%s", strerror(errno));
        close(c.fd);
    }
    kernels_go(0);
}

static const struct tap_test tests[] = {
    {"ranges", "ranges locked by different processes exclude each other as POSIX says", test_ranges},
    {"parts", "a lock can be split and merged", test_parts},
    {"close", "closing any descriptor of a file, and the end of a process, release its locks", test_close},
    {"close-other", "closing another open file of the same file releases the locks, too", test_close_other},
    {"errors", "invalid arguments are refused as on Linux", test_errors},
    {"waiting", "processes that wait on all kernels get the lock one at a time", test_waiting},
    {"interrupted", "a signal interrupts the wait for a lock", test_interrupted},
    {"deadlock", "a cycle of waiting processes is EDEADLK", test_deadlock},
    {"open-files", "locks of open files belong to the open file", test_open_files},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
