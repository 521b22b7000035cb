/* taskbench: processes that begin and end. The parent is the program's first thread, wherever it is. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "libc/kettle.h"
#include "userland/bench/bench.h"
#include "userland/bench/tasks/taskbench.h"

#define WARM_UP 2
#define NOTHING "nothing"
#define STATUS_NO_EXEC 127
#define MARGIN_FIRST_NS 20000000u
#define MARGIN_LAST_NS 100000000000u

/* Path of the program that ends at once: beside this one, or with the machine's own. */
static const char *nothing_path(void)
{
    static char path[sizeof(taskbench_self) + sizeof(NOTHING)];
    char *slash;

    strcpy(path, taskbench_self);
    slash = strrchr(path, '/');
    strcpy(slash == NULL ? path : slash + 1, NOTHING);
    return access(path, X_OK) == 0 ? path : "/bin/" NOTHING;
}

static int wait_well(pid_t child)
{
    int status;
    int error = taskbench_wait(child, &status);

    if (error == 0 && status != 0)
        error = bench_failed("the child's end", EPROTO);
    return error;
}

/* What WHAT answered for PATH. A kernel that does not find a file that is there cannot run files where the caller is.
 */
static int start_failed(const char *what, const char *path, int error)
{
    char words[64];

    if (error != ENOENT || access(path, X_OK) != 0)
        return bench_failed(what, error);
    snprintf(words, sizeof(words), "%s where the files are not", what);
    return bench_failed(words, ENOSYS);
}

/* On KERNEL by kettle_spawn; when it is negative here, by posix_spawn. */
static int spawn(const char *path, int kernel, pid_t *child)
{
    char *argv[] = {NOTHING, NULL};
    int error;

    if (kernel >= 0) {
        *child = (pid_t)syscall(KETTLE_CALL_SPAWN, (long)kernel, path, argv, environ, NULL, 0l);
        return *child >= 0 ? 0 : start_failed("kettle_spawn", path, errno);
    }
    error = posix_spawn(child, path, NULL, NULL, argv, environ);
    return error == 0 ? 0 : start_failed("posix_spawn", path, error);
}

static int spawns(uint32_t count, int kernel)
{
    const char *path = nothing_path();
    int error = 0;

    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        pid_t child;

        if (i >= WARM_UP)
            bench_begin();
        error = spawn(path, kernel, &child);
        if (error == 0)
            error = wait_well(child);
        if (i >= WARM_UP)
            bench_end();
    }
    return error;
}

int taskbench_run_spawn_kettle(const struct taskbench_case *bench, uint32_t count)
{
    return spawns(count, bench_machine.places[bench_place_of(bench->where)].kernel);
}

int taskbench_run_spawn_posix(const struct taskbench_case *bench, uint32_t count)
{
    (void)bench;
    return spawns(count, -1);
}

static int forks(uint32_t count)
{
    int error = 0;

    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        pid_t child;

        if (i >= WARM_UP)
            bench_begin();
        child = fork();
        if (child == 0)
            _exit(0);
        error = child < 0 ? bench_failed("fork", errno) : wait_well(child);
        if (i >= WARM_UP)
            bench_end();
    }
    return error;
}

/* bench->number bytes have been touched by the parent, where it forks: in pages of 4 KiB, or as the kernel likes. */
int taskbench_run_fork(const struct taskbench_case *bench, uint32_t count)
{
    size_t size = (size_t)bench->number;
    volatile char *memory = NULL;
    int error;

    if (size != 0) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return bench_failed("mmap", errno);
        if (bench->small_pages) /* a kernel that does not know the call has no others */
            madvise((void *)memory, size, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < size; at += BENCH_PAGE)
            memory[at] = 1;
    }
    error = forks(count);
    if (size != 0)
        munmap((void *)memory, size);
    return error;
}

/* One vfork, whose child runs NOTHING. What exec says comes back in the shared memory. */
static int vfork_once(const char *path)
{
    static volatile int exec_error;
    static char *const argv[] = {NOTHING, NULL};
    pid_t child;

    exec_error = 0;
    child = vfork();
    if (child == 0) {
        execve(path, argv, environ);
        exec_error = errno;
        _exit(STATUS_NO_EXEC);
    }
    if (child < 0)
        return bench_failed("vfork", errno);
    if (exec_error != 0) {
        int status;

        taskbench_wait(child, &status);
        return start_failed("execve", path, exec_error);
    }
    return wait_well(child);
}

int taskbench_run_vfork_exec(const struct taskbench_case *bench, uint32_t count)
{
    const char *path = nothing_path();
    int error = 0;

    (void)bench;
    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        if (i >= WARM_UP)
            bench_begin();
        error = vfork_once(path);
        if (i >= WARM_UP)
            bench_end();
    }
    return error;
}

/* The end of a child whose command is WORD: from exit_group in its first thread to the parent's return from waitpid. A
 * child that was not ready in time is given more. */
static int group_exit_once(const struct taskbench_case *bench, const char *word, const char *places, uint64_t *margin)
{
    for (; *margin < MARGIN_LAST_NS; *margin *= 2) {
        char words[3][24];
        const char *const child_words[] = {word, words[0], words[1], words[2], places, NULL};
        uint64_t deadline = bench_now() + *margin;
        int error = 0;
        int status;
        pid_t child;

        snprintf(words[0], sizeof(words[0]), "%u", bench->row.region);
        snprintf(words[1], sizeof(words[1]), "%" PRIu64, deadline);
        snprintf(words[2], sizeof(words[2]), "%d", bench->number);
        child = taskbench_child_start(child_words, &error);
        if (child < 0)
            return error;
        error = taskbench_wait(child, &status);
        if (error != 0)
            return error;
        if (status == 0) {
            bench_begun_elsewhere(deadline);
            bench_end();
            return 0;
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != TASKBENCH_CHILD_LATE)
            return bench_failed("the child's threads at their places", EPROTO);
    }
    return bench_failed("the child by its deadline", ETIMEDOUT);
}

static int group_exits(const struct taskbench_case *bench, const char *word, uint32_t count)
{
    static uint64_t margin = MARGIN_FIRST_NS;
    char places[16 * BENCH_PLACES_MAX];
    int error = 0;

    taskbench_places_print(0, bench_machine.count - 1, places, sizeof(places));
    for (uint32_t i = 0; i < count && error == 0; i++)
        error = group_exit_once(bench, word, places, &margin);
    return error;
}

/* Of bench->number threads that sleep on all places in turn. */
int taskbench_run_group_exit(const struct taskbench_case *bench, uint32_t count)
{
    return group_exits(bench, "group", count);
}

/* Of one thread that has been at bench->number places, or at all if there are less. */
int taskbench_run_visited_exit(const struct taskbench_case *bench, uint32_t count)
{
    return group_exits(bench, "visits", count);
}
