/* SIGKILL ends a stopped process; other signals wait until it goes on. */
#include "abi.h"

static void handler(int n)
{
    say(n == SIGUSR1 ? "handler\n" : "?\n");
}
static int child(void)
{
    on_signal(SIGUSR1, handler, 0);
    raise(SIGSTOP);
    raise(SIGSTOP);
    return 6;
}
int main(void)
{
    int status;
    pid_t pid = spawn(child);
    MUST(waitpid(pid, &status, WUNTRACED));
    kill(pid, SIGUSR1);
    SHOW(waitpid(pid, &status, WNOHANG));
    kill(pid, SIGCONT);
    MUST(waitpid(pid, &status, WUNTRACED));
    tell_status(status);
    kill(pid, SIGKILL);
    reap(pid);
    return 0;
}
