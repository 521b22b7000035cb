/* fexecve and execveat run what a descriptor is open for. */
#include "abi.h"

extern char **environ;
int main(int argc, char **argv)
{
    char *arguments[] = {argv[0], "again", NULL};
    int fd;
    if (argc == 2)
        return 12;
    for (int i = 0; i < 2; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            fd = (int)MUST(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
            if (i == 0)
                CALL(fexecve(fd, arguments, environ));
            else
                CALL(syscall(SYS_execveat, fd, "", arguments, environ, AT_EMPTY_PATH));
            _exit(1);
        }
        reap(pid);
    }
    return 0;
}
