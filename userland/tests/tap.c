/* Test programs that run inside the machine. userland/tests/tap.h is the contract. */
#include "userland/tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "libc/kettle.h"

#define EXPLAINED_MAX 20 /* failures of one test that are printed */

static struct {
    unsigned failures; /* of the running test */
    const char *skip;  /* why the running test is skipped, or NULL */
} now;

static void explain(const char *file, int line, const char *text)
{
    if (now.failures++ < EXPLAINED_MAX)
        printf("# %s:%d: on kernel %d: %s", file, line, kettle_kernel(), text);
}

int tap_run(const struct tap_test *tests, size_t count)
{
    size_t broken = 0;

    printf("1..%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        now.failures = 0;
        now.skip = NULL;
        /* What a test writes by itself, past stdio, must come behind what is already said. */
        fflush(stdout);
        tests[i].run();
        if (now.failures > EXPLAINED_MAX)
            printf("# %u failures in all\n", now.failures);
        printf("%s %zu - %s", now.failures == 0 ? "ok" : "not ok", i + 1, tests[i].promise);
        if (now.skip != NULL && now.failures == 0)
            printf(" # SKIP %s", now.skip);
        putchar('\n');
        broken += now.failures != 0;
    }
    fflush(stdout);
    return broken == 0 ? 0 : 1;
}

bool tap_broken(const char *file, int line, const char *condition, const char *format, ...)
{
    va_list arguments;

    explain(file, line, condition);
    if (now.failures > EXPLAINED_MAX)
        return false;
    printf(": ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    return false;
}

bool tap_expect_error(long result, int error, const char *file, int line, const char *call)
{
    int found = errno;

    if (result == -1 && found == error)
        return true;
    explain(file, line, call);
    if (now.failures > EXPLAINED_MAX)
        return false;
    if (result == -1)
        printf(": fails with %s, not %s\n", strerror(found), strerror(error));
    else
        printf(": returns %ld, does not fail with %s\n", result, strerror(error));
    return false;
}

void tap_skip(const char *reason)
{
    now.skip = reason;
}

void tap_note(const char *format, ...)
{
    va_list arguments;

    fputs("# ", stdout);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

bool tap_on_kettle(void)
{
    return syscall(KETTLE_CALL_KERNELS) >= 0;
}

bool tap_skip_alone(void)
{
    int kernels[64];

    if (!tap_on_kettle())
        tap_skip("no Kettle");
    else if (tap_kernels(kernels) < 2)
        tap_skip("one started kernel");
    else
        return false;
    return true;
}

int tap_kernels(int kernels[64])
{
    int count = 0;

    for (int kernel = 0; kernel < kettle_kernels() && count < 64; kernel++) {
        if (kettle_started(kernel) == 1)
            kernels[count++] = kernel;
    }
    return count;
}

uint64_t tap_random(uint64_t *state)
{
    uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

bool tap_sleeps(pid_t process, long thread)
{
    char path[64], text[512];
    const char *name_end;
    ssize_t size = -1;
    int file;

    snprintf(path, sizeof(path), "/proc/%d/task/%ld/stat", process != 0 ? process : getpid(), thread);
    file = open(path, O_RDONLY);
    if (file >= 0) {
        size = read(file, text, sizeof(text) - 1);
        close(file);
    }
    if (size <= 0)
        return false;
    text[size] = '\0';
    name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'S';
}

pid_t tap_spawn(const char *first, const char *second)
{
    const char *path = (const char *)getauxval(AT_EXECFN);
    char *arguments[] = {(char *)path, (char *)first, (char *)second, NULL};
    pid_t child;
    int kernel;

    if (path == NULL) {
        errno = ENOENT;
        return -1;
    }
    fflush(stdout);
    do { /* a kernel that was stopped since we asked where we are cannot begin anything */
        kernel = kettle_kernel();
        child = kettle_spawn(kernel, path, arguments, environ, NULL);
    } while (child == -1 && errno == EAGAIN && kernel != kettle_kernel());
    return child;
}

int tap_child(const char *first, const char *second)
{
    pid_t child = tap_spawn(first, second);
    int status = -1;
    pid_t waited;

    if (!EXPECT(child > 0, "cannot start '%s': %s", first, strerror(errno)))
        return -1;
    waited = waitpid(child, &status, 0);
    if (!EXPECT(waited == child, "waiting for '%s' (process %d) returns %d: %s", first, child, waited, strerror(errno)))
        return -1;
    return status;
}

bool tap_expect_end(const char *first, const char *second, int number, bool signal, const char *file, int line)
{
    int status = tap_child(first, second);

    if (status == -1)
        return false;
    if (signal ? WIFSIGNALED(status) && WTERMSIG(status) == number : WIFEXITED(status) && WEXITSTATUS(status) == number)
        return true;
    explain(file, line, first);
    if (now.failures > EXPLAINED_MAX)
        return false;
    if (WIFSIGNALED(status))
        printf(": child died of signal %d", WTERMSIG(status));
    else
        printf(": child exited with %d", WEXITSTATUS(status));
    printf(", should have %s %d\n", signal ? "died of signal" : "exited with", number);
    return false;
}
