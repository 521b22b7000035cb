/* What SIGCHLD tells of children that exit, are killed, stop and go on. */
#include "abi.h"

static void tell(const char *what, int status)
{
    siginfo_t info;
    sigset_t set = set_of(SIGCHLD);
    MUST(sigwaitinfo(&set, &info));
    printf("%s: code %d status %d\n", what, info.si_code, info.si_status - status);
}
static int leave(void)
{
    return 9;
}
static int stay(void)
{
    for (;;)
        pause();
}
int main(void)
{
    sigset_t set = set_of(SIGCHLD);
    pid_t pid;
    sigprocmask(SIG_BLOCK, &set, NULL);
    pid = spawn(leave);
    tell("exit", 0);
    reap(pid);
    pid = spawn(stay);
    kill(pid, SIGSTOP);
    tell("stop", 0);
    kill(pid, SIGCONT);
    tell("continue", 0);
    kill(pid, SIGKILL);
    tell("kill", 0);
    reap(pid);
    return 0;
}
