/* Kettle's own calls. libc/kettle.h is the contract.
 *
 * kettle_call is the one place where a kernel's answer becomes a return value and errno (syscall(2) does the
 * conversion) and where a kernel that does not know the call is told from one that refuses it. */
#include "libc/kettle.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"

/* Makes a call. *ABSENT says whether the kernel is no Kettle; errno is then as it was before, for the callers
 * that have an answer of their own. */
static long kettle_call(long number, long a, long b, long c, bool *absent)
{
    int before = errno;
    long result = syscall(number, a, b, c);

    *absent = result == -1 && errno == ENOSYS;
    if (*absent)
        errno = before;
    return result;
}

/* The answer to a question about KERNEL: Kettle's, or ALONE for the only kernel where there is no Kettle. */
static int kernel_call(long number, int kernel, int alone)
{
    bool absent;
    long result = kettle_call(number, kernel, 0, 0, &absent);

    if (!absent)
        return (int)result;
    if (kernel == 0)
        return alone;
    errno = EINVAL;
    return -1;
}

int kettle_migrate(int kernel)
{
    return (int)syscall(KETTLE_CALL_MIGRATE, (long)kernel);
}

int kettle_kernel(void)
{
    bool absent;
    long result = kettle_call(KETTLE_CALL_KERNEL, 0, 0, 0, &absent);

    return absent ? 0 : (int)result;
}

int kettle_kernels(void)
{
    bool absent;
    long result = kettle_call(KETTLE_CALL_KERNELS, 0, 0, 0, &absent);

    return absent ? 1 : (int)result;
}

int kettle_node(int kernel)
{
    return kernel_call(KETTLE_CALL_NODE, kernel, 0);
}

int kettle_start(int kernel)
{
    return kernel_call(KETTLE_CALL_START, kernel, 0);
}

int kettle_image(int kernel, const char *path)
{
    return (int)syscall(KETTLE_CALL_IMAGE, (long)kernel, path);
}

int kettle_stop(int kernel)
{
    bool absent;
    long result = kettle_call(KETTLE_CALL_STOP, kernel, 0, 0, &absent);

    if (!absent)
        return (int)result;
    errno = kernel == 0 ? EBUSY : EINVAL;
    return -1;
}

int kettle_kill(int kernel, int how)
{
    bool absent;
    long result = kettle_call(KETTLE_CALL_KILL, kernel, how, 0, &absent);

    if (!absent)
        return (int)result;
    errno = ENOSYS;
    return -1;
}

int kettle_started(int kernel)
{
    return kernel_call(KETTLE_CALL_STARTED, kernel, 1);
}

/* Where there is no Kettle: descriptor i of the child is FDS[i]. Each is first moved above them all, so that none is
 * lost by the place of another being taken. */
static int add_descriptors(posix_spawn_file_actions_t *actions, const int *fds)
{
    int count = 0, error = 0;

    while (fds[count] != KETTLE_FDS_END)
        count++;
    for (int i = 0; i < count && error == 0; i++) {
        if (fds[i] >= 0)
            error = posix_spawn_file_actions_adddup2(actions, fds[i], KETTLE_FDS_MAX + i);
    }
    for (int i = 0; i < count && error == 0; i++) {
        error = fds[i] >= 0 ? posix_spawn_file_actions_adddup2(actions, KETTLE_FDS_MAX + i, i)
                            : posix_spawn_file_actions_addclose(actions, i);
    }
    for (int i = 0; i < count && error == 0; i++) {
        if (fds[i] >= 0)
            error = posix_spawn_file_actions_addclose(actions, KETTLE_FDS_MAX + i);
    }
    return error;
}

static pid_t spawn_alone(int kernel, const char *path, char *const argv[], char *const envp[], const int *fds)
{
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    int error;

    if (kernel != 0 && kernel != KETTLE_ANY) {
        errno = EINVAL;
        return -1;
    }
    error = posix_spawn_file_actions_init(&actions);
    if (error == 0 && fds != NULL)
        error = add_descriptors(&actions, fds);
    if (error == 0) {
        error = posix_spawn(&child, path, &actions, NULL, argv, envp);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (error == 0)
        return child;
    errno = error;
    return -1;
}

pid_t kettle_spawn(int kernel, const char *path, char *const argv[], char *const envp[], const int *fds)
{
    int before = errno;
    long count = 0;
    long result;

    while (fds != NULL && fds[count] != KETTLE_FDS_END)
        count++;
    result = syscall(KETTLE_CALL_SPAWN, (long)kernel, path, argv, envp, fds, count);
    if (result != -1 || errno != ENOSYS)
        return (pid_t)result;
    errno = before;
    return spawn_alone(kernel, path, argv, envp, fds);
}

int kettle_messages(const struct kettle_messages *run)
{
    return (int)syscall(KETTLE_CALL_MESSAGES, run);
}

int kettle_tally(int from, struct kettle_tally *tally)
{
    return (int)syscall(KETTLE_CALL_TALLY, (long)from, tally);
}

int kettle_audit(pid_t pid, char *report, size_t size)
{
    return (int)syscall(KETTLE_CALL_AUDIT, (long)pid, report, size);
}

int kettle_retrieve(pid_t pid, const char *strategy)
{
    return (int)syscall(KETTLE_CALL_RETRIEVE, (long)pid, strategy);
}

int kettle_numa(pid_t pid, const char *policy)
{
    return (int)syscall(KETTLE_CALL_NUMA, (long)pid, policy);
}

int kettle_lock(const void *address, size_t length)
{
    return (int)syscall(KETTLE_CALL_LOCK, address, length);
}

int kettle_control(const char *words)
{
    return (int)syscall(KETTLE_CALL_CONTROL, words);
}
