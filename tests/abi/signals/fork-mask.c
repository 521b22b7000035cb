/* A child has its parent's mask and handlers, and none of its pending signals. */
#include "abi.h"

static void handler(int n)
{
    say(n == SIGUSR1 ? "handler\n" : "?\n");
}
static int child(void)
{
    sigset_t set;
    sigpending(&set);
    SHOW(sigismember(&set, SIGUSR1));
    sigprocmask(SIG_SETMASK, NULL, &set);
    SHOW(sigismember(&set, SIGUSR1));
    raise(SIGUSR1);
    sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    return 0;
}
int main(void)
{
    sigset_t set = set_of(SIGUSR1);
    on_signal(SIGUSR1, handler, 0);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    reap(spawn(child));
    return 0;
}
