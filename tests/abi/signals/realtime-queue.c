/* Realtime signals are queued, each with its value, in order. */
#include "abi.h"

static void handler(int n, siginfo_t *info, void *u)
{
    printf("+%d value %d\n", n - SIGRTMIN, info->si_value.sival_int + (u == NULL));
}
int main(void)
{
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 3; i++)
        on_info(SIGRTMIN + i, handler, 0);
    for (int i = 0; i < 9; i++)
        MUST(sigqueue(getpid(), SIGRTMIN + (i * 2) % 3, (union sigval){.sival_int = i}));
    sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    return 0;
}
