/* sigsuspend waits with another mask and puts the old one back. */
#include "abi.h"

static void handler(int n)
{
    say(n == SIGUSR1 ? "handler\n" : "?\n");
}
int main(void)
{
    sigset_t set = set_of(SIGUSR1), none = set_of(0), after;
    on_signal(SIGUSR1, handler, 0);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    printf("suspend\n");
    CALL(sigsuspend(&none));
    sigprocmask(SIG_SETMASK, NULL, &after);
    SHOW(sigismember(&after, SIGUSR1));
    return 0;
}
