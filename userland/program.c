/* Running another program and waiting for it. userland/program.h is the contract. */
#include "userland/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"

#define STATUS_CANNOT_START 126
#define STATUS_NOT_FOUND 127
#define STATUS_SIGNAL 128

static pid_t program_spawn(char *const argv[])
{
    static const char *const directories[] = {"/bin", "/run"};
    char path[4096];
    pid_t child = -1;

    if (strchr(argv[0], '/') != NULL)
        return kettle_spawn(kettle_kernel(), argv[0], argv, environ, NULL);
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
        if (snprintf(path, sizeof(path), "%s/%s", directories[i], argv[0]) >= (int)sizeof(path)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        child = kettle_spawn(kettle_kernel(), path, argv, environ, NULL);
        if (child >= 0 || errno != ENOENT)
            break;
    }
    return child;
}

pid_t program_start(char *const argv[], const char *name)
{
    pid_t child;

    fflush(stdout);
    child = program_spawn(argv);
    if (child < 0) {
        int error = errno;

        fprintf(stderr, "%s: cannot run %s: %s\n", name, argv[0], strerror(error));
        errno = error;
    }
    return child;
}

int program_run(char *const argv[], const char *name)
{
    pid_t child = program_start(argv, name);
    int status;

    if (child < 0)
        return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_START;
    while (waitpid(child, &status, 0) != child) {
        if (errno != EINTR) {
            fprintf(stderr, "%s: cannot wait for %s: %s\n", name, argv[0], strerror(errno));
            return STATUS_CANNOT_START;
        }
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "%s: %s: %s\n", name, argv[0], strsignal(WTERMSIG(status)));
        return STATUS_SIGNAL + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}
