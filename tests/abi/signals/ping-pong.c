/* Two processes signal each other 50 times and lose none. */
#include "abi.h"

static volatile sig_atomic_t got;
static void handler(int n)
{
    got += n == SIGUSR1;
}
static void play(pid_t other, bool first)
{
    sigset_t none = set_of(0);
    for (int i = 0; i < 50; i++) {
        if (first)
            kill(other, SIGUSR1);
        while (got == i)
            sigsuspend(&none);
        if (!first)
            kill(other, SIGUSR1);
    }
}
static int child(void)
{
    go(1);
    play(getppid(), false);
    return got;
}
int main(void)
{
    sigset_t set = set_of(SIGUSR1);
    pid_t pid;
    on_signal(SIGUSR1, handler, 0);
    sigprocmask(SIG_BLOCK, &set, NULL);
    pid = spawn(child);
    play(pid, true);
    SHOW(got);
    reap(pid);
    return 0;
}
