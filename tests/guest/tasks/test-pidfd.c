/* test-pidfd: descriptors of processes, and the memory of other processes, from every kernel for those on any. A Linux
 * program but for where it runs. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define PIDFD_SEND_SIGNAL 424
#define PIDFD_OPEN 434
#define PIDFD_GETFD 438
#define P_PIDFD_ 3
#define CLONE_PIDFD_ 0x1000
#define LONG_WAIT 60000 /* ms: a failure */

static int open_process(pid_t pid, int flags)
{
    return (int)syscall(PIDFD_OPEN, pid, flags);
}

static long send_to(int fd, int signal)
{
    return syscall(PIDFD_SEND_SIGNAL, fd, signal, NULL, 0);
}

/* A child on kernel HOME that waits for signals on kernel RUNS. */
static pid_t sleeper(int home, int runs)
{
    pid_t child;

    kernels_go(home);
    child = fork();
    if (child == 0) {
        kernels_go(runs);
        for (;;)
            pause();
    }
    return child;
}

static int readable(int fd, int ms)
{
    struct pollfd source = {.fd = fd, .events = POLLIN};

    return poll(&source, 1, ms) == 1 ? source.revents : 0;
}

static void test_life(void)
{
    for (int k = 0; k < 2 * kernels_count(); k++) {
        pid_t child = sleeper(k, k / 2 + 1);
        siginfo_t info;
        int fd, again;
        char byte;

        kernels_go(k + 2);
        fd = open_process(child, 0);
        if (!CHECK(fd >= 0, "kernel %d: %s", k, strerror(errno)))
            return;
        CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "flags %d", fcntl(fd, F_GETFD));
        CHECK(readable(fd, 0) == 0, "kernel %d: not yet", k);
        CHECK_ERROR(read(fd, &byte, 1), EINVAL);
        CHECK(send_to(fd, 0) == 0, "signal 0: %s", strerror(errno));
        kernels_go(k + 3);
        CHECK(send_to(fd, SIGTERM) == 0, "kernel %d: %s", k, strerror(errno));
        CHECK(readable(fd, LONG_WAIT) == POLLIN, "kernel %d: its end is told", k);
        again = open_process(child, 0); /* a zombie is a process */
        CHECK(again >= 0 && readable(again, 0) == POLLIN, "of a zombie: %d", again);
        memset(&info, 0, sizeof(info));
        CHECK(waitid((idtype_t)P_PIDFD_, (id_t)fd, &info, WEXITED) == 0 && info.si_pid == child &&
                  info.si_status == SIGTERM && info.si_code == CLD_KILLED,
              "kernel %d: %s, status %d", k, strerror(errno), info.si_status);
        CHECK(readable(fd, 0) == POLLIN && readable(again, 0) == POLLIN, "and stays so");
        CHECK_ERROR(send_to(fd, 0), ESRCH);
        CHECK_ERROR(waitid((idtype_t)P_PIDFD_, (id_t)fd, &info, WEXITED), ECHILD);
        CHECK_ERROR(open_process(child, 0), ESRCH);
        close(again);
        close(fd);
    }
    kernels_go(0);
}

static void test_epoll(void)
{
    pid_t children[4];
    int fds[4], set = epoll_create1(0), seen = 0;
    struct epoll_event event;

    for (int i = 0; i < 4; i++) {
        children[i] = sleeper(i, i + 1);
        fds[i] = open_process(children[i], 0);
        event = (struct epoll_event){.events = EPOLLIN, .data.u32 = (uint32_t)i};
        CHECK(epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &event) == 0, "add %d: %s", i, strerror(errno));
    }
    CHECK(epoll_wait(set, &event, 1, 0) == 0, "nobody has ended");
    for (int i = 3; i >= 0; i--) {
        kernels_go(i);
        send_to(fds[i], SIGKILL);
        CHECK(epoll_wait(set, &event, 1, LONG_WAIT) == 1 && event.data.u32 == (uint32_t)i, "child %d: %u", i,
              event.data.u32);
        CHECK(waitpid(children[i], NULL, 0) == children[i], "child %d", i);
        epoll_ctl(set, EPOLL_CTL_DEL, fds[i], NULL);
        close(fds[i]);
        seen++;
    }
    CHECK(seen == 4, "%d", seen);
    close(set);
    kernels_go(0);
}

/* The descriptor is there before the child runs, and the child has none. */
static void test_clone(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int fd = -1, status = -1;
        long child;

        kernels_go(k);
        child = x86_syscall(SYS_clone, CLONE_PIDFD_ | SIGCHLD, 0, (long)&fd, 0, 0, 0);
        if (child == 0)
            _exit(fcntl(fd, F_GETFD) == -1 && errno == EBADF ? 7 : 8);
        kernels_go(k + 1);
        CHECK(child > 0 && fd >= 0 && readable(fd, LONG_WAIT) == POLLIN, "kernel %d: %ld, descriptor %d", k, child, fd);
        CHECK(waitpid((pid_t)child, &status, 0) == child && WEXITSTATUS(status) == 7, "status %x", (unsigned)status);
        close(fd);
    }
    CHECK(x86_syscall(SYS_clone, CLONE_PIDFD_ | SIGCHLD, 0, (long)TAP_UNMAPPED, 0, 0, 0) == -EFAULT, "a bad address");
    CHECK_ERROR(waitpid(-1, NULL, WNOHANG), ECHILD);
    kernels_go(0);
}

static void test_errors(void)
{
    int null = open("/dev/null", O_RDWR), fd;
    siginfo_t info;
    pid_t child = sleeper(1, 2);

    CHECK_ERROR(open_process(-1, 0), EINVAL);
    CHECK_ERROR(open_process(0, 0), EINVAL);
    CHECK_ERROR(open_process(child, 1), EINVAL);
    CHECK_ERROR(open_process(4000000, 0), ESRCH);
    CHECK_ERROR(send_to(null, SIGTERM), EBADF);
    CHECK_ERROR(send_to(-1, SIGTERM), EBADF);
    CHECK_ERROR(waitid((idtype_t)P_PIDFD_, (id_t)null, &info, WEXITED), EBADF);
    fd = open_process(child, O_NONBLOCK);
    CHECK(fd >= 0, "open: %s", strerror(errno));
    CHECK_ERROR(send_to(fd, 65), EINVAL);
    CHECK_ERROR(syscall(PIDFD_SEND_SIGNAL, fd, SIGTERM, NULL, 1), EINVAL);
    CHECK_ERROR(waitid((idtype_t)P_PIDFD_, (id_t)fd, &info, WEXITED), EAGAIN);
    CHECK_ERROR(syscall(PIDFD_GETFD, fd, 1000, 0), EBADF);
    CHECK_ERROR(syscall(PIDFD_GETFD, fd, 0, 1), EINVAL);
    send_to(fd, SIGKILL);
    CHECK(readable(fd, LONG_WAIT) == POLLIN && waitpid(child, NULL, 0) == child, "its end");
    close(fd);
    close(null);
    kernels_go(0);
}

/* The other end of a pipe that only the child has. */
static void test_take(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int ready[2], fd, taken;
        int32_t number = -1;
        pid_t child;
        char text[8] = "";

        kernels_go(k);
        if (!CHECK(pipe(ready) == 0, "pipe: %s", strerror(errno)))
            return;
        child = fork();
        if (child == 0) {
            int ends[2];

            kernels_go(k + 1);
            if (pipe(ends) == 0 && write(ready[1], &ends[0], sizeof(int32_t)) == sizeof(int32_t) &&
                write(ends[1], "inside", 6) == 6)
                pause();
            _exit(1);
        }
        CHECK(read(ready[0], &number, sizeof(number)) == sizeof(number), "the child is ready");
        kernels_go(k + 2);
        fd = open_process(child, 0);
        taken = (int)syscall(PIDFD_GETFD, fd, number, 0);
        CHECK(taken >= 0 && read(taken, text, sizeof(text)) == 6 && memcmp(text, "inside", 6) == 0,
              "kernel %d: %s, \"%s\"", k, strerror(errno), text);
        CHECK(fcntl(taken, F_GETFD) == FD_CLOEXEC, "flags %d", fcntl(taken, F_GETFD));
        send_to(fd, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child, "its end");
        close(taken);
        close(fd);
        close(ready[0]);
        close(ready[1]);
    }
    kernels_go(0);
}

/* --- process_vm_readv, process_vm_writev --- */

#define WORDS (6 * PAGE / 8)

static void test_memory(void)
{
    uint64_t *area = (uint64_t *)(void *)spread_memory_map(
        8, PRIVATE); /* the sixth page is not there, the seventh read-only */
    static uint64_t got[WORDS];

    if (area == NULL)
        return;
    munmap((char *)area + 6 * PAGE, PAGE);
    mprotect((char *)area + 7 * PAGE, PAGE, PROT_READ);
    for (int k = 0; k < kernels_count(); k++) {
        struct iovec here[2] = {{got, 100}, {(char *)got + 100, sizeof(got) - 100}};
        struct iovec there[3] = {{area, PAGE + 8}, {area + PAGE / 8 + 1, 0}, {area + PAGE / 8 + 1, 5 * PAGE - 8}};
        int ready[2], status = -1;
        pid_t child;
        char byte;

        kernels_go(k);
        if (!CHECK(pipe(ready) == 0, "pipe: %s", strerror(errno)))
            return;
        child = fork();
        if (child == 0) {
            for (int i = 0; i < WORDS; i++) {
                if (i % 512 == 0)
                    kernels_go(k + i / 512);
                area[i] = (uint64_t)k * 1000000 + (uint64_t)i;
            }
            (void)!write(ready[1], "r", 1);
            while (__atomic_load_n(&area[WORDS - 1], __ATOMIC_SEQ_CST) != 77)
                sched_yield();
            _exit(area[600] == 78 ? 5 : 6);
        }
        CHECK(read(ready[0], &byte, 1) == 1, "the child is ready");
        kernels_go(k + 1);
        memset(got, 0, sizeof(got));
        CHECK(syscall(SYS_process_vm_readv, child, here, 2, there, 3, 0) == 6 * PAGE, "kernel %d: %s", k,
              strerror(errno));
        for (int i = 0; i < WORDS; i++) {
            if (!CHECK(got[i] == (uint64_t)k * 1000000 + (uint64_t)i, "kernel %d word %d: %lu", k, i, got[i]))
                break;
        }
        here[0] = (struct iovec){got, 2 * PAGE};
        there[0] = (struct iovec){(char *)area + 5 * PAGE, 2 * PAGE};
        CHECK(syscall(SYS_process_vm_readv, child, here, 1, there, 1, 0) == PAGE, "to the end: %s", strerror(errno));
        here[0] = (struct iovec){(char *)area + 5 * PAGE + 8, 2 * PAGE}; /* ours has an end, too */
        there[0] = (struct iovec){area, 2 * PAGE};
        CHECK(syscall(SYS_process_vm_writev, child, here, 1, there, 1, 0) == PAGE - 8, "from its end: %s",
              strerror(errno));
        here[0] = (struct iovec){got, PAGE - 8};
        CHECK(syscall(SYS_process_vm_readv, child, here, 1, there, 1, 0) == PAGE - 8 && got[0] == 0, "it is there");
        here[0] = (struct iovec){got, 2 * PAGE};
        there[0] = (struct iovec){(char *)area + 6 * PAGE, 8};
        CHECK_ERROR(syscall(SYS_process_vm_readv, child, here, 1, there, 1, 0), EFAULT);
        there[0] = (struct iovec){(char *)area + 7 * PAGE, 8};
        CHECK_ERROR(syscall(SYS_process_vm_writev, child, here, 1, there, 1, 0), EFAULT);
        got[0] = 78;
        here[0] = (struct iovec){got, 8};
        there[0] = (struct iovec){&area[600], 8};
        CHECK(syscall(SYS_process_vm_writev, child, here, 1, there, 1, 0) == 8, "write: %s", strerror(errno));
        got[0] = 77;
        there[0] = (struct iovec){&area[WORDS - 1], 8};
        CHECK(syscall(SYS_process_vm_writev, child, here, 1, there, 1, 0) == 8, "write: %s", strerror(errno));
        CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5, "status %x", (unsigned)status);
        CHECK(area[600] == 0 && area[WORDS - 1] == 0, "ours is as it was");
        CHECK_ERROR(syscall(SYS_process_vm_readv, child, here, 1, there, 1, 0), ESRCH);
        close(ready[0]);
        close(ready[1]);
    }
    kernels_go(0);
}

#define USER 1000

/* Of another user's process: run in a child that is nobody's root. */
static int stranger(void *context)
{
    static char bytes[8];
    struct iovec here = {bytes, 1}, there = {bytes, 1};
    pid_t parent = getppid();
    void *address = bytes;
    unsigned long nodes = 1;
    int fd = open_process(parent, 0), status;

    (void)context;
    bytes[0] = 1;
    if (x86_syscall(SYS_setresgid, USER, USER, USER, 0, 0, 0) != 0 ||
        x86_syscall(SYS_setresuid, USER, USER, USER, 0, 0, 0) != 0)
        return 1;
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        if (syscall(PIDFD_GETFD, fd, 0, 0) != -1 || errno != EPERM)
            return 2;
        if (syscall(SYS_process_vm_readv, parent, &here, 1, &there, 1, 0) != -1 || errno != EPERM ||
            syscall(SYS_process_vm_writev, parent, &here, 1, &there, 1, 0) != -1 || errno != EPERM)
            return 3;
        if (syscall(SYS_move_pages, parent, 1, &address, NULL, &status, 0) != -1 || errno != EPERM ||
            syscall(SYS_migrate_pages, parent, 65, &nodes, &nodes) != -1 || errno != EPERM)
            return 4;
        if (syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) != 1 ||
            syscall(SYS_move_pages, 0, 1, &address, NULL, &status, 4) != -1 || errno != EPERM)
            return 5;
    }
    return 0;
}

static void test_stranger(void)
{
    int status;

    if (geteuid() != 0) {
        tap_skip("not root");
        return;
    }
    status = tap_fork(stranger, NULL);
    CHECK(status == 0, "refused: %d", status);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"life", "a pidfd refers to a process until it is waited for, and reports its end", test_life},
        {"epoll", "epoll reports the ends of processes on all kernels", test_epoll},
        {"clone", "clone with CLONE_PIDFD gives a descriptor of the child", test_clone},
        {"errors", "invalid arguments are refused", test_errors},
        {"take", "pidfd_getfd takes descriptors from a process", test_take},
        {"memory", "process_vm_readv and process_vm_writev reach another process where its pages allow it",
         test_memory},
        {"stranger", "descriptors and memory of other users' processes are refused", test_stranger},
    };

    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
