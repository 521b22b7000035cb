/* test-limits: resource limits of a process whose threads are on many kernels. The same tests run on Linux. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define MIB (1l << 20)

static long limit(long id, int which, const struct rlimit *new, struct rlimit *old)
{
    return x86_syscall(SYS_prlimit64, id, which, (long)new, (long)old, 0, 0);
}

static int set(int which, rlim_t soft)
{
    struct rlimit is;

    if (limit(0, which, NULL, &is) != 0)
        return -1;
    is.rlim_cur = soft;
    return (int)limit(0, which, &is, NULL);
}

static void test_values(void)
{
    struct rlimit is = {0, 0}, other = {77, 777};

    CHECK(getrlimit(RLIMIT_STACK, &is) == 0 && is.rlim_cur == 8 * MIB, "stack %ld", (long)is.rlim_cur);
    CHECK(getrlimit(RLIMIT_NOFILE, &is) == 0 && is.rlim_cur == 1024 && is.rlim_max == 4096, "files %ld, %ld",
          (long)is.rlim_cur, (long)is.rlim_max);
    CHECK(getrlimit(RLIMIT_CORE, &is) == 0 && is.rlim_cur == 0 && is.rlim_max == RLIM_INFINITY, "core %ld",
          (long)is.rlim_cur);
    CHECK(getrlimit(RLIMIT_AS, &is) == 0 && is.rlim_cur == RLIM_INFINITY, "memory %ld", (long)is.rlim_cur);
    for (int i = 0; i < kernels_count(); i++) {
        kernels_go(i);
        other.rlim_cur = 100 + (rlim_t)i;
        CHECK(limit(0, RLIMIT_MEMLOCK, &other, &is) == 0, "set from kernel %d", i);
        kernels_go(i + 1);
        CHECK(getrlimit(RLIMIT_MEMLOCK, &is) == 0 && is.rlim_cur == other.rlim_cur && is.rlim_max == 777,
              "asked from kernel %d: %ld, %ld", i + 1, (long)is.rlim_cur, (long)is.rlim_max);
    }
    is = (struct rlimit){1 * MIB, 64 * MIB};
    CHECK(setrlimit(RLIMIT_CORE, &is) == 0 && getrlimit(RLIMIT_CORE, &other) == 0 && other.rlim_cur == 1 * MIB, "core");
}

static void test_errors(void)
{
    struct rlimit wrong = {2, 1}, many = {1024, (1 << 20) + 1}, is;

    CHECK(x86_syscall3(SYS_getrlimit, 16, (long)&is, 0) == -EINVAL && limit(0, 16, NULL, &is) == -EINVAL, "no limit");
    CHECK(x86_syscall3(SYS_setrlimit, 16, (long)&is, 0) == -EINVAL, "no limit to set");
    CHECK(x86_syscall3(SYS_setrlimit, RLIMIT_CORE, (long)&wrong, 0) == -EINVAL, "soft above hard");
    CHECK(limit(0, RLIMIT_NOFILE, &many, NULL) == -EPERM, "more files than anybody has");
    CHECK(x86_syscall3(SYS_getrlimit, RLIMIT_CORE, 8, 0) == -EFAULT, "nowhere");
    CHECK(x86_syscall3(SYS_setrlimit, RLIMIT_CORE, 8, 0) == -EFAULT, "from nowhere");
    CHECK(x86_syscall3(SYS_setrlimit, 16, 8, 0) == -EFAULT, "that first");
    CHECK(limit(0x3ffffff, RLIMIT_CORE, NULL, &is) == -ESRCH && limit(-1, RLIMIT_CORE, NULL, &is) == -ESRCH,
          "no process");
    CHECK(limit(0x3ffffff, 16, NULL, &is) == -ESRCH, "that before the limit");
}

/* --- what limits; each in a child --- */

static int child_files(void *unused)
{
    int fd;

    (void)unused;
    kernels_go(1);
    if (set(RLIMIT_NOFILE, 10) != 0)
        return 1;
    for (int i = 0; i < kernels_count(); i++) {
        kernels_go(i);
        while ((fd = dup(0)) >= 0) {
            if (fd >= 10)
                return 2;
        }
        if (errno != EMFILE || dup2(0, 10) != -1 || errno != EBADF || dup2(0, 9) != 9)
            return 3;
        if (fcntl(0, F_DUPFD, 10) != -1 || errno != EINVAL || fcntl(0, F_DUPFD, 9) != -1 || errno != EMFILE)
            return 4;
        if (open("/dev/null", O_RDONLY) != -1 || errno != EMFILE || pipe((int[2]){0, 0}) != -1 || errno != EMFILE)
            return 5;
        close(9);
        if (set(RLIMIT_NOFILE, 12) != 0 || dup2(0, 11) != 11 || set(RLIMIT_NOFILE, 10) != 0 || write(11, "", 0) != 0)
            return 6;
        close(11);
    }
    return 0;
}

static int child_memory(void *unused)
{
    long end = x86_syscall1(SYS_brk, 0);
    char *first;

    (void)unused;
    kernels_go(1);
    first = mmap(NULL, MIB, PROT_READ | PROT_WRITE, PRIVATE, -1, 0);
    kernels_go(0);
    if (set(RLIMIT_AS, 64 * MIB) != 0)
        return 1;
    for (int i = 0; i < kernels_count(); i++) {
        int count = 0;
        char *area[100];

        kernels_go(i);
        if (mmap(NULL, 65 * MIB, PROT_NONE, PRIVATE, -1, 0) != MAP_FAILED || errno != ENOMEM)
            return 2;
        while (count < 100 && (area[count] = mmap(NULL, MIB, PROT_READ, PRIVATE, -1, 0)) != MAP_FAILED)
            count++;
        if (count < 16 || count > 63 || errno != ENOMEM)
            return 3;
        if (mmap(first, MIB, PROT_READ, PRIVATE | MAP_FIXED, -1, 0) != first)
            return 4; /* in place of what is there */
        if (x86_syscall1(SYS_brk, end + 2 * MIB) != end)
            return 5;
        while (count > 0)
            munmap(area[--count], MIB);
        if (x86_syscall1(SYS_brk, end + 2 * MIB) != end + 2 * MIB || x86_syscall1(SYS_brk, end) != end)
            return 6;
    }
    return 0;
}

static int child_data(void *unused)
{
    long end = x86_syscall1(SYS_brk, 0);

    (void)unused;
    if (set(RLIMIT_DATA, 32 * MIB) != 0)
        return 1;
    if (mmap(NULL, 33 * MIB, PROT_READ | PROT_WRITE, PRIVATE, -1, 0) != MAP_FAILED || errno != ENOMEM)
        return 2;
    if (mmap(NULL, 33 * MIB, PROT_READ, PRIVATE, -1, 0) == MAP_FAILED)
        return 3;
    if (mmap(NULL, 33 * MIB, PROT_READ | PROT_WRITE, SHARED, -1, 0) == MAP_FAILED)
        return 4;
    return x86_syscall1(SYS_brk, end + 33 * MIB) == end ? 0 : 5;
}

static __attribute__((noinline)) int deep(int depth)
{
    volatile char room[16384];

    room[0] = (char)depth;
    return depth == 0 ? room[0] : deep(depth - 1) + room[0];
}

static int child_stack(void *depth)
{
    if (set(RLIMIT_STACK, MIB) != 0)
        return 1;
    deep((int)(long)depth);
    return 0;
}

static int child_inherits(void *unused)
{
    struct rlimit is;
    pid_t child;
    int status = -1;

    (void)unused;
    if (set(RLIMIT_NOFILE, 5) != 0)
        return 1;
    child = fork();
    if (child == 0)
        _exit(getrlimit(RLIMIT_NOFILE, &is) == 0 && is.rlim_cur == 5 && dup(0) >= 0 && dup(0) >= 0 && dup(0) < 0 ? 0
                                                                                                                 : 1);
    if (waitpid(child, &status, 0) != child || status != 0)
        return 2;
    return CHECK_CHILD_EXITS("inherited", NULL, 3) ? 0 : 3;
}

static int child_other(void *unused)
{
    struct rlimit new = {9, 99}, old;
    int go[2], end[2], status = -1;
    char byte;
    pid_t child;

    (void)unused;
    if (pipe(go) != 0 || pipe(end) != 0)
        return 1;
    child = fork();
    if (child == 0) {
        kernels_go(2);
        read(go[0], &byte, 1);
        _exit(getrlimit(RLIMIT_NOFILE, &old) == 0 && old.rlim_cur == 9 && old.rlim_max == 99 ? 0 : 1);
    }
    kernels_go(1);
    if (limit(child, RLIMIT_NOFILE, &new, &old) != 0 || old.rlim_cur != 1024)
        return 2;
    write(go[1], "", 1);
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 3;
}

static volatile sig_atomic_t exceeded;

static void note(int signal)
{
    (void)signal;
    exceeded++;
}

static int child_cpu(void *dies)
{
    struct rlimit cpu = {1, dies != NULL ? 2 : 100};
    struct timespec used;

    signal(SIGXCPU, note);
    if (limit(0, RLIMIT_CPU, &cpu, NULL) != 0)
        return 1;
    for (int i = 0; dies != NULL || exceeded < 1; i++) {
        kernels_go(i / 1000);
        for (volatile int spin = 0; spin < 20000; spin++)
            ;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec >= 1 ? 0 : 2;
}

static void expect_child(int (*body)(void *), void *context, int status)
{
    int got = tap_fork(body, context);

    CHECK(got == status, "the child left with %d", got);
}

static void test_files(void)
{
    expect_child(child_files, NULL, 0);
}

static void test_memory(void)
{
    expect_child(child_memory, NULL, 0);
    expect_child(child_data, NULL, 0);
}

static void test_stack(void)
{
    expect_child(child_stack, (void *)40, 0);
    expect_child(child_stack, (void *)70, 1000 + SIGSEGV);
}

static void test_inherited(void)
{
    expect_child(child_inherits, NULL, 0);
}

static void test_other(void)
{
    expect_child(child_other, NULL, 0);
}

static void test_cpu(void)
{
    expect_child(child_cpu, NULL, 0);
    expect_child(child_cpu, "dies", 1000 + SIGKILL);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"values", "limits are the process's on every kernel", test_values},
        {"errors", "invalid arguments are refused", test_errors},
        {"files", "RLIMIT_NOFILE limits descriptors", test_files},
        {"memory", "RLIMIT_AS and RLIMIT_DATA limit memory", test_memory},
        {"stack", "RLIMIT_STACK limits the stack", test_stack},
        {"inherited", "children and programs inherit limits", test_inherited},
        {"other", "prlimit reads and sets limits of another process", test_other},
        {"cpu", "RLIMIT_CPU limits CPU time", test_cpu},
    };
    struct rlimit is;

    if (argc > 1 && strcmp(argv[1], "@inherited") == 0)
        return getrlimit(RLIMIT_NOFILE, &is) == 0 && is.rlim_cur == 5 ? 3 : 1;
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
