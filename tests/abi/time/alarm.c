/* alarm tells what was left of the last one. */
#include "abi.h"

static volatile sig_atomic_t count;
static void handler(int n)
{
    count += n == SIGALRM;
}
int main(void)
{
    sigset_t block = set_of(SIGALRM), none = set_of(0);
    on_signal(SIGALRM, handler, 0);
    SHOW(alarm(100));
    SHOW(alarm(100) >= 90);
    sigprocmask(SIG_BLOCK, &block, NULL); /* or it may come before the wait */
    alarm(1);
    CALL(sigsuspend(&none));
    sigprocmask(SIG_UNBLOCK, &block, NULL);
    SHOW(alarm(0));
    SHOW(ualarm(20000, 20000));
    CALL(pause());
    SHOW(count >= 2);
    return 0;
}
