/* WNOHANG returns 0 while the child lives. */
#include "abi.h"

static int channel[2];
static int child(void)
{
    char byte;
    MUST(read(channel[0], &byte, 1));
    return 2;
}
int main(void)
{
    int status;
    pid_t pid;
    MUST(pipe(channel));
    pid = spawn(child);
    SHOW(waitpid(pid, &status, WNOHANG));
    MUST(write(channel[1], "", 1));
    reap(pid);
    return 0;
}
