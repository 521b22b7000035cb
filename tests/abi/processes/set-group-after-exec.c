/* A child that has executed cannot be given another group. */
#include "abi.h"

int main(int argc, char **argv)
{
    static int fds[2];
    char byte;
    pid_t pid;
    if (argc == 2) {
        MUST(write(10, "", 1));
        pause();
        return 0;
    }
    MUST(pipe(fds));
    pid = fork();
    if (pid == 0) {
        MUST(dup2(fds[1], 10));
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
        _exit(1);
    }
    MUST(read(fds[0], &byte, 1));
    CALL(setpgid(pid, 0));
    kill(pid, SIGTERM);
    reap(pid);
    return 0;
}
