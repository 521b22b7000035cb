/* A signal for a process group reaches all in it and none else. */
#include "abi.h"

static int ready[2];
static int child(void)
{
    int killed = 0;
    setpgid(0, 0);
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            MUST(write(ready[1], "x", 1));
            for (;;)
                pause();
        }
    }
    signal(SIGTERM, SIG_IGN);
    MUST(write(ready[1], "y", 1));
    for (int i = 0; i < 3; i++) {
        int status;
        MUST(wait(&status));
        killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
    }
    return killed;
}
int main(void)
{
    char byte;
    pid_t pid;
    MUST(pipe(ready));
    pid = spawn(child);
    for (int i = 0; i < 4; i++)
        MUST(read(ready[0], &byte, 1));
    CALL(kill(-pid, SIGTERM) + 0 * pid);
    reap(pid);
    return 0;
}
