/* A handler can leave by siglongjmp, which restores the mask. */
#include "abi.h"

static sigjmp_buf back;
static void handler(int n)
{
    siglongjmp(back, n);
}
int main(void)
{
    sigset_t set;
    volatile int rounds = 0;
    on_signal(SIGUSR1, handler, 0);
    SHOW(sigsetjmp(back, 1));
    sigprocmask(SIG_SETMASK, NULL, &set);
    SHOW(sigismember(&set, SIGUSR1));
    if (rounds++ < 3)
        raise(SIGUSR1);
    return 0;
}
