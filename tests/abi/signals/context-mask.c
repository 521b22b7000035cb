/* The mask that a handler's context holds is in force when it returns. */
#include "abi.h"

static void handler(int n, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    sigaddset(&u->uc_sigmask, SIGUSR2);
    printf("%s %d\n", signal_name(n), info != NULL);
}
int main(void)
{
    sigset_t set;
    on_info(SIGUSR1, handler, 0);
    raise(SIGUSR1);
    sigprocmask(SIG_SETMASK, NULL, &set);
    SHOW(sigismember(&set, SIGUSR2));
    return 0;
}
