/* SA_NOCLDSTOP: no SIGCHLD for a stop, one for the end. */
#include "abi.h"

static atomic_int count;
static void handler(int n)
{
    count += n == SIGCHLD;
}
static int stay(void)
{
    for (;;)
        pause();
}
int main(void)
{
    int status;
    pid_t pid;
    on_signal(SIGCHLD, handler, SA_NOCLDSTOP | SA_RESTART);
    pid = spawn(stay);
    kill(pid, SIGSTOP);
    MUST(waitpid(pid, &status, WUNTRACED));
    tell_status(status);
    SHOW(count);
    kill(pid, SIGCONT);
    MUST(waitpid(pid, &status, WCONTINUED));
    tell_status(status);
    SHOW(count);
    kill(pid, SIGKILL);
    reap(pid);
    SHOW(count);
    return 0;
}
