/* Children of tests. tests/guest/harness/tap.h is the contract. */
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap_internal.h"

#define CHILD_NAME 40

const char *tap_self(void)
{
    const char *path = (const char *)getauxval(AT_EXECFN);

    return path == NULL ? "/proc/self/exe" : path;
}

pid_t tap_spawn(const char *child, const char *argument)
{
    char name[CHILD_NAME];
    char *arguments[] = {(char *)tap_self(), name, (char *)argument, NULL};
    pid_t pid;
    int kernel;

    snprintf(name, sizeof(name), "@%s", child);
    fflush(stdout);
    do { /* a kernel that was stopped since we asked where we are cannot begin anything */
        kernel = kettle_kernel();
        pid = kettle_spawn(kernel, tap_self(), arguments, environ, NULL);
    } while (pid == -1 && errno == EAGAIN && kernel != kettle_kernel());
    return pid;
}

void tap_exec(const char *child, const char *first, const char *second)
{
    char name[CHILD_NAME];
    char *arguments[] = {(char *)tap_self(), name, (char *)first, (char *)second, NULL};

    snprintf(name, sizeof(name), "@%s", child);
    MUST(execve(tap_self(), arguments, environ));
    tap_stop();
}

int tap_wait(pid_t pid)
{
    int status = -1;
    pid_t waited;
    char what[40];

    snprintf(what, sizeof(what), "the end of child %d", (int)pid);
    tap_await(what);
    do {
        waited = waitpid(pid, &status, 0);
    } while (waited == -1 && errno == EINTR);
    REQUIRE(waited == pid, "waitpid(%d) returns %d: %s", (int)pid, (int)waited, tap_error(errno));
    tap_await(NULL);
    return status;
}

bool tap_check_end(pid_t child, int number, bool signal, const char *file, int line, const char *what)
{
    int status;

    if (child <= 0)
        return tap_broken(file, line, what, "cannot be started: %s", tap_error(errno));
    status = tap_wait(child);
    if (signal ? WIFSIGNALED(status) && WTERMSIG(status) == number : WIFEXITED(status) && WEXITSTATUS(status) == number)
        return true;
    return tap_broken(file, line, what, "child %d %s %d, should have %s %d", (int)child,
                      WIFSIGNALED(status) ? "died of signal" : "exited with",
                      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                      signal ? "died of signal" : "exited with", number);
}

int tap_fork(int (*body)(void *context), void *context)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(body(context));
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void *tap_share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    REQUIRE(memory != MAP_FAILED, "mmap of shared memory: %s", tap_error(errno));
    return memory;
}
