/* A child that has ended can be signalled until it is waited for. */
#include "abi.h"

static int child(void)
{
    return 0;
}
int main(void)
{
    siginfo_t info;
    pid_t pid = spawn(child);
    MUST(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
    SHOW(kill(pid, 0));
    SHOW(kill(pid, SIGKILL));
    reap(pid);
    SHOW(kill(pid, 0));
    return 0;
}
