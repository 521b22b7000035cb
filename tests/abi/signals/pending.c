/* A blocked signal is pending once, and comes when it is unblocked. */
#include "abi.h"

static void handler(int n)
{
    say(n == SIGUSR1 ? "handler\n" : "?\n");
}
int main(void)
{
    sigset_t set = set_of(SIGUSR1), pending;
    on_signal(SIGUSR1, handler, 0);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR1);
    sigpending(&pending);
    SHOW(sigismember(&pending, SIGUSR1));
    SHOW(sigismember(&pending, SIGUSR2));
    printf("unblock\n");
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sigpending(&pending);
    SHOW(sigismember(&pending, SIGUSR1));
    return 0;
}
