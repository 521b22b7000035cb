/* Nobody reaches into processes of others, or into the program that a process runs next. Part of test-users. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/users.h"

/* A descriptor of process ID, or -1. */
static long reach(pid_t id)
{
    long fd = -1, process = syscall(SYS_pidfd_open, id, 0);

    if (process >= 0)
        fd = syscall(SYS_pidfd_getfd, process, 1, 0);
    if (fd >= 0)
        close((int)fd);
    if (process >= 0) {
        int error = errno;

        close((int)process);
        errno = error;
    }
    return fd;
}

/* Opens and reads it. */
static int open_read(const char *name)
{
    char bytes[16];
    int fd = open(name, O_RDONLY), count = -1;

    if (fd >= 0) {
        count = (int)read(fd, bytes, sizeof(bytes));
        close(fd);
    }
    return count;
}

static int reaches(void *context)
{
    const pid_t *ids = context;
    struct rlimit limit;
    char byte = 1, name[64];
    struct iovec own = {&byte, 1}, theirs = {&byte, 1};
    int own_fd;
    pid_t child;

    HOLDS(setresuid(USER, USER, USER) == 0 && prctl(PR_GET_DUMPABLE) == 0);
    CHECK_ERROR(reach(ids[0]), EPERM);
    CHECK_ERROR(process_vm_readv(ids[0], &own, 1, &theirs, 1, 0), EPERM);
    CHECK_ERROR(syscall(SYS_move_pages, ids[0], 0, NULL, NULL, NULL, 0), EPERM);
    CHECK_ERROR(prlimit(ids[0], RLIMIT_NOFILE, NULL, &limit), EPERM);
    snprintf(name, sizeof(name), "/proc/%d/environ", (int)ids[0]);
    CHECK_ERROR(open_read(name), EACCES);
    snprintf(name, sizeof(name), "/proc/%d/fd", (int)ids[0]);
    CHECK_ERROR(open(name, O_RDONLY | O_DIRECTORY), EACCES);
    snprintf(name, sizeof(name), "/proc/%d/fd/0", (int)ids[0]);
    CHECK_ERROR(readlink(name, &byte, 1), EACCES);
    HOLDS((own_fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY)) >= 0 && close(own_fd) == 0);
    CHECK_ERROR(reach(ids[1]), EPERM); /* it has been somebody else */
    HOLDS(prlimit(ids[1], RLIMIT_NOFILE, NULL, &limit) == 0);
    HOLDS(prctl(PR_SET_DUMPABLE, 1) == 0);
    child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    HOLDS(reach(child) >= 0 && process_vm_readv(child, &own, 1, &theirs, 1, 0) == 1);
    HOLDS(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    return 0;
}

/* What the program writes to descriptor 3, which it was given, is not to come to its own memory. */
static char victim[8] = "as made";

int users_print_memory(void)
{
    ssize_t count = write(3, "changed", 7);
    char byte = 'x';

    printf("%zd %zd %s\n", count, pread(3, &byte, 1, (off_t)victim), victim);
    return 0;
}

static int gives_memory(void *context)
{
    char text[64] = "";
    int ends[2], status, memory;
    pid_t child;

    kernels_go((long)context);
    HOLDS(chown("program", OTHER, OTHER_GROUP) == 0 && chmod("program", 04755) == 0);
    HOLDS(pipe(ends) == 0 && users_become(USER, GROUP) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    child = fork();
    if (child == 0) {
        memory = open("/proc/self/mem", O_RDWR);
        if (memory < 0 || lseek(memory, (off_t)victim, SEEK_SET) < 0 || write(memory, "as made", 7) != 7 ||
            lseek(memory, (off_t)victim, SEEK_SET) < 0)
            _exit(7);
        dup2(ends[1], 1);
        if (memory != 3 && dup2(memory, 3) != 3)
            _exit(8);
        execl("program", "program", "memory", NULL);
        _exit(9);
    }
    HOLDS(child > 0 && waitpid(child, &status, 0) == child);
    HOLDS(status == 0 && read(ends[0], text, sizeof(text) - 1) > 0);
    printf("# it says %s", text);
    HOLDS(strcmp(text, "0 0 as made\n") == 0);
    return 0;
}

/* It waits until nobody writes to it any more. */
int users_print_victim(void)
{
    char byte;

    if (read(0, &byte, 1) != 0)
        return 2;
    return strcmp(victim, "as made") == 0 ? 0 : 1;
}

/* Writes to a child all the time, that becomes another user's meanwhile. */
static int writes_on(void *context)
{
    static struct iovec own[256], theirs[256];
    static char bytes[8] = "written";
    int ends[2], ready[2], status;
    pid_t child, busy[2];
    siginfo_t end = {.si_pid = 0};
    char byte;

    for (int i = 0; i < 256; i++) {
        own[i] = (struct iovec){bytes, 7};
        theirs[i] = (struct iovec){victim, 7};
    }
    HOLDS(chown("program", OTHER, OTHER_GROUP) == 0 && chmod("program", 04755) == 0);
    HOLDS(pipe(ends) == 0 && pipe(ready) == 0 && users_become(USER, GROUP) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    kernels_go((long)context);
    child = fork();
    if (child == 0) {
        close(ends[1]);
        dup2(ends[0], 0);
        if (write(ready[1], "", 1) != 1)
            _exit(8);
        while (*(volatile char *)victim == 'a')
            sched_yield();
        execl("program", "program", "victim", NULL);
        _exit(9);
    }
    HOLDS(child > 0 && close(ready[1]) == 0 && read(ready[0], &byte, 1) == 1);
    kernels_go((long)context + 1);
    for (int i = 0; i < 2; i++) { /* they make the writer pause, perhaps as long as exec takes */
        busy[i] = fork();
        if (busy[i] == 0) {
            for (;;)
                getppid();
        }
    }
    while ((process_vm_writev(child, own, 256, theirs, 256, 0) >= 0 || errno != EPERM) && end.si_pid == 0)
        HOLDS(waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) == 0);
    for (int i = 0; i < 2; i++)
        HOLDS(kill(busy[i], SIGKILL) == 0 && waitpid(busy[i], NULL, 0) == busy[i]);
    HOLDS(close(ends[1]) == 0 && waitpid(child, &status, 0) == child);
    if (status != 0)
        printf("# status %x\n", (unsigned)status);
    HOLDS(status == 0);
    return 0;
}

#define SECRET_FD 9

int users_print_secret(void)
{
    char byte;
    int fd = open("secret", O_RDONLY);

    return fd >= 0 && dup2(fd, SECRET_FD) == SECRET_FD && read(0, &byte, 1) == 0 ? 0 : 1;
}

/* Takes a descriptor of a child all the time, that becomes another user's meanwhile, and has it only then. */
static int takes_on(void *context)
{
    int ends[2], status, taken;
    long process;
    pid_t child;

    HOLDS(chown("program", OTHER, OTHER_GROUP) == 0 && chmod("program", 04755) == 0);
    HOLDS(pipe(ends) == 0 && users_become(USER, GROUP) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    kernels_go((long)context);
    child = fork();
    if (child == 0) {
        close(ends[1]);
        dup2(ends[0], 0);
        execl("program", "program", "secret", NULL);
        _exit(9);
    }
    process = syscall(SYS_pidfd_open, child, 0);
    HOLDS(process >= 0 && process < SECRET_FD && ends[1] < SECRET_FD);
    kernels_go((long)context + 1);
    do
        taken = (int)syscall(SYS_pidfd_getfd, process, SECRET_FD, 0);
    while (taken < 0 && errno == EBADF);
    HOLDS(taken < 0 && errno == EPERM);
    HOLDS(close(ends[1]) == 0 && waitpid(child, &status, 0) == child && status == 0);
    return 0;
}

void users_test_take(void)
{
    int fd = open("secret", O_RDWR | O_CREAT, 0600);

    CHECK(users_copy_self("program") == 0 && fd >= 0 && fchown(fd, OTHER, OTHER_GROUP) == 0 && close(fd) == 0,
          "what is there: %s", strerror(errno));
    for (long k = 0; k < 4 * kernels_count(); k++)
        users_in_child(takes_on, (void *)k);
    CHECK(unlink("program") == 0 && unlink("secret") == 0, "%s", strerror(errno));
}

void users_test_memory(void)
{
    CHECK(users_copy_self("program") == 0, "a copy");
    for (long k = 0; k < kernels_count(); k++)
        users_in_child(gives_memory, (void *)k);
    for (long k = 0; k < kernels_count(); k++)
        users_in_child(writes_on, (void *)k);
    CHECK(unlink("program") == 0, "%s", strerror(errno));
}

void users_test_reach(void)
{
    for (long k = 0; k < kernels_count(); k++) {
        pid_t children[2] = {users_sleeper(k, OTHER), users_sleeper(k, USER)};

        CHECK(children[0] > 0 && children[1] > 0, "%s", strerror(errno));
        users_in_child(reaches, children);
        for (int i = 0; i < 2; i++)
            CHECK(kill(children[i], SIGKILL) == 0 && waitpid(children[i], NULL, 0) == children[i], "%s",
                  strerror(errno));
    }
}
