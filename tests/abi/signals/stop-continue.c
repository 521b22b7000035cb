/* A stopped process is told by waitpid, and goes on where it was. */
#include "abi.h"

static int ready[2];
static int child(void)
{
    char byte;
    raise(SIGSTOP);
    MUST(read(ready[0], &byte, 1));
    printf("goes on\n");
    return 6;
}
int main(void)
{
    int status;
    pid_t pid;
    MUST(pipe(ready));
    pid = spawn(child);
    MUST(waitpid(pid, &status, WUNTRACED));
    tell_status(status);
    SHOW(waitpid(pid, &status, WUNTRACED | WNOHANG));
    kill(pid, SIGCONT);
    MUST(waitpid(pid, &status, WCONTINUED));
    tell_status(status);
    MUST(write(ready[1], "", 1));
    reap(pid);
    return 0;
}
