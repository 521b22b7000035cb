/* Of test-libc: programs that are started with kettle_spawn. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/libc.h"

static char *const strings_argv[] = {"", "@arguments", "two words", "\xc3\xa4\x01\xff", "", "last", NULL};
static char *const strings_envp[] = {"A=1", "EMPTY=", "LONG=0123456789 0123456789 0123456789", "odd", NULL};

int libc_child_arguments(int argc, char **argv)
{
    int i;

    for (i = 0; strings_argv[i] != NULL; i++) {
        if (i >= argc || strcmp(argv[i], strings_argv[i]) != 0)
            return 1;
    }
    if (argc != i || argv[argc] != NULL)
        return 1;
    for (i = 0; strings_envp[i] != NULL; i++) {
        if (environ[i] == NULL || strcmp(environ[i], strings_envp[i]) != 0)
            return 1;
    }
    return environ[i] == NULL ? 0 : 1;
}

void libc_test_spawn_strings(void)
{
    const char *path = (const char *)getauxval(AT_EXECFN);
    int status = -1;
    pid_t child = kettle_spawn(kettle_kernel(), path, strings_argv, strings_envp, NULL);

    if (CHECK(child > 0, "%s: %s", path, strerror(errno)) &&
        CHECK(waitpid(child, &status, 0) == child, "%s", strerror(errno)))
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child's status is %#x", (unsigned)status);
}

void libc_test_spawn_status(void)
{
    static const int statuses[] = {0, 1, 7, 127, 255};

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        char text[8];

        snprintf(text, sizeof(text), "%d", statuses[i]);
        CHECK_CHILD_EXITS("exit", text, statuses[i]);
    }
    CHECK_CHILD_EXITS("exit", "263", 7);
    CHECK_CHILD_EXITS("exit", "-1", 255);
}

void libc_test_spawn_many(void)
{
    enum { CHILDREN = 8 };
    pid_t children[CHILDREN];
    unsigned seen = 0;

    for (int i = 0; i < CHILDREN; i++) {
        char text[8];

        snprintf(text, sizeof(text), "%d", 10 + i);
        children[i] = tap_spawn("exit", text);
        CHECK(children[i] > 0, "child %d: %s", i, strerror(errno));
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        pid_t child = waitpid(-1, &status, 0);

        CHECK(child > 0 && WIFEXITED(status), "%d, %#x", child, (unsigned)status);
        for (int j = 0; j < CHILDREN; j++) {
            if (child == children[j] && WEXITSTATUS(status) == 10 + j)
                seen |= 1u << j;
        }
    }
    CHECK(seen == (1u << CHILDREN) - 1, "ended as they should: %#x", seen);
    CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD);
    CHECK_ERROR(waitpid(children[0], NULL, 0), ECHILD);
}

/* As program `echo`: gives back what it reads, and its kernel as status. */
int libc_child_echo(int argc, char **argv)
{
    char bytes[64];
    ssize_t count;

    (void)argc, (void)argv;
    while ((count = read(0, bytes, sizeof(bytes))) > 0) {
        if (write(1, bytes, (size_t)count) != count)
            return 100;
    }
    if (access("/proc/kettle/plan", R_OK) == 0 && fcntl(3, F_GETFD) != -1)
        return 101; /* it has no other descriptors: kettle.h promises that of Kettle only */
    return kettle_kernel();
}

void libc_test_spawn_where(void)
{
    const char *path = (const char *)getauxval(AT_EXECFN);
    char *argv[] = {"test-libc", "@echo", NULL};

    for (int k = 0; k < kettle_kernels(); k++) {
        int in[2], out[2], status = -1;
        char text[16] = "";
        pid_t child;

        if (!CHECK(pipe(in) == 0 && pipe(out) == 0, "pipe: %s", strerror(errno)))
            return;
        fcntl(in[1], F_SETFD, FD_CLOEXEC); /* no matter: only the listed ones are the child's */
        child = kettle_spawn(k, path, argv, environ, (int[]){in[0], out[1], 2, KETTLE_FDS_END});
        close(in[0]);
        close(out[1]);
        if (!CHECK(child > 0, "kernel %d: %s", k, strerror(errno)))
            return;
        CHECK(write(in[1], "to and fro", 10) == 10, "%s", strerror(errno));
        close(in[1]);
        CHECK(read(out[0], text, sizeof(text)) == 10 && strcmp(text, "to and fro") == 0, "kernel %d: '%s'", k, text);
        CHECK(read(out[0], text, sizeof(text)) == 0, "kernel %d: more than was written", k);
        close(out[0]);
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == k,
              "kernel %d: status %#x", k, (unsigned)status);
    }
    CHECK_ERROR(kettle_spawn(kettle_kernels(), path, argv, environ, NULL), EINVAL);
    CHECK_ERROR(kettle_spawn(0, path, argv, environ, (int[]){0, 77, KETTLE_FDS_END}), EBADF);
}

void libc_test_spawn_errors(void)
{
    char *argv[] = {"x", NULL};

    CHECK_ERROR(kettle_spawn(kettle_kernel(), "/no/such/file", argv, environ, NULL), ENOENT);
    CHECK_ERROR(kettle_spawn(kettle_kernel(), "", argv, environ, NULL), ENOENT);
    CHECK_ERROR(kettle_spawn(kettle_kernel(), "/", argv, environ, NULL), EACCES);
    CHECK_ERROR(kettle_spawn(kettle_kernel(), TAP_UNMAPPED, argv, environ, NULL), EFAULT);
    CHECK_ERROR(kettle_spawn(kettle_kernel(), (const char *)getauxval(AT_EXECFN), TAP_UNMAPPED, environ, NULL), EFAULT);
    CHECK_ERROR(kettle_spawn(kettle_kernel(), (const char *)getauxval(AT_EXECFN), argv, TAP_KERNEL_ADDRESS, NULL),
                EFAULT);
    CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD);
}
