/* abibench: operations of one thread, at home or elsewhere. What they use is made at home: pipes and descriptors belong
 * to the process. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "userland/bench/abi/abibench.h"
#include "userland/x86.h"

#define WARM_UP 4

/* Goes where BENCH says, and runs OPERATE that often, warmed up. */
static int repeat(const struct abibench_case *bench, uint32_t count, int (*operate)(void *context), void *context)
{
    int error = bench->leaves ? bench_go(bench_place_of(bench->where)) : 0;

    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        if (i >= WARM_UP)
            bench_begin();
        error = operate(context);
        if (i >= WARM_UP)
            bench_end();
    }
    return error;
}

static int failed(const char *what, long result)
{
    return bench_failed(what, result < 0 ? (int)-result : EPROTO);
}

/* What the measuring itself costs. */
static int nothing(void *context)
{
    (void)context;
    return 0;
}

int abibench_run_empty(const struct abibench_case *bench, uint32_t count)
{
    return repeat(bench, count, nothing, NULL);
}

static int get_parent(void *context)
{
    (void)context;
    x86_syscall0(SYS_getppid);
    return 0;
}

int abibench_run_null(const struct abibench_case *bench, uint32_t count)
{
    return repeat(bench, count, get_parent, NULL);
}

/* As programs ask: where there is a vDSO, without a system call. */
static int get_time(void *context)
{
    return clock_gettime(CLOCK_MONOTONIC, context) == 0 ? 0 : bench_failed("clock_gettime", errno);
}

int abibench_run_clock(const struct abibench_case *bench, uint32_t count)
{
    struct timespec now;

    return repeat(bench, count, get_time, &now);
}

/* One byte in and out again. */
static int through_pipe(void *context)
{
    const int *ends = context;
    char byte = 1;
    long result = x86_syscall3(SYS_write, ends[1], (long)&byte, 1);

    if (result == 1)
        result = x86_syscall3(SYS_read, ends[0], (long)&byte, 1);
    return result == 1 ? 0 : failed("a pipe", result);
}

int abibench_run_pipe(const struct abibench_case *bench, uint32_t count)
{
    int ends[2];
    int error;

    if (pipe(ends) != 0)
        return bench_failed("pipe", errno);
    error = repeat(bench, count, through_pipe, ends);
    close(ends[0]);
    close(ends[1]);
    return error;
}

/* The first 4096 bytes of a file. */
static int read_page(void *context)
{
    static char page[BENCH_PAGE];
    long result = x86_syscall(SYS_pread64, *(const int *)context, (long)page, sizeof(page), 0, 0, 0);

    return result == sizeof(page) ? 0 : failed("pread of 4096 bytes", result);
}

int abibench_run_read(const struct abibench_case *bench, uint32_t count)
{
    int fd = open(abibench_self, O_RDONLY);
    int error = fd < 0 ? bench_failed("open", errno) : repeat(bench, count, read_page, &fd);

    if (fd >= 0)
        close(fd);
    return error;
}

static int open_close(void *context)
{
    long fd = x86_syscall(SYS_openat, AT_FDCWD, (long)context, O_RDONLY, 0, 0, 0);
    long result = fd < 0 ? fd : x86_syscall1(SYS_close, fd);

    return result == 0 ? 0 : failed("open and close", result);
}

int abibench_run_open_close(const struct abibench_case *bench, uint32_t count)
{
    return repeat(bench, count, open_close, abibench_self);
}

static int look(void *context)
{
    struct stat facts;

    return stat(context, &facts) == 0 ? 0 : bench_failed("stat", errno);
}

int abibench_run_stat(const struct abibench_case *bench, uint32_t count)
{
    return repeat(bench, count, look, abibench_self);
}

/* fork, exec of a program that ends at once, wait. */
static int fork_exec(void *context)
{
    char *const arguments[] = {"nothing", NULL};
    char *const environment[] = {NULL};
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        execve(context, arguments, environment);
        _exit(1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return bench_failed("fork and wait", errno);
    return status == 0 ? 0 : bench_failed("a child that execs", EPROTO);
}

int abibench_run_fork_exec(const struct abibench_case *bench, uint32_t count)
{
    static char path[BENCH_PATH_SIZE + sizeof("nothing")];
    const char *slash = strrchr(abibench_self, '/');
    int error = bench->leaves ? bench_go(bench_place_of(bench->where)) : 0;

    snprintf(path, sizeof(path), "%.*s/nothing", slash == NULL ? 0 : (int)(slash - abibench_self), abibench_self);
    if (error == 0 && access(path, X_OK) != 0)
        snprintf(path, sizeof(path), "/bin/nothing");
    if (error == 0)
        error = bench_bind_here();
    return error != 0 ? error : repeat(bench, count, fork_exec, path);
}

/* Nobody waits at the word. */
static int wake(void *context)
{
    long result = x86_syscall3(SYS_futex, (long)context, FUTEX_WAKE_PRIVATE, 1);

    return result == 0 ? 0 : failed("futex", result);
}

int abibench_run_wake(const struct abibench_case *bench, uint32_t count)
{
    static int word;

    return repeat(bench, count, wake, &word);
}

static int lock_unlock(void *context)
{
    int error = pthread_mutex_lock(context);

    if (error == 0)
        error = pthread_mutex_unlock(context);
    return error == 0 ? 0 : bench_failed("a mutex", error);
}

int abibench_run_mutex(const struct abibench_case *bench, uint32_t count)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    return repeat(bench, count, lock_unlock, &mutex);
}
