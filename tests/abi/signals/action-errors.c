/* What sigaction and sigprocmask refuse; old actions are told. */
#include "abi.h"

static void handler(int n)
{
    say(n == 0 ? "?" : "");
}
int main(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    sigset_t set;
    CALL(sigaction(SIGKILL, &action, NULL));
    CALL(sigaction(SIGSTOP, &action, NULL));
    CALL(sigaction(65, &action, NULL));
    CALL(sigaction(0, &action, NULL));
    CALL(sigaction(SIGKILL, NULL, &old));
    CALL(sigaction(SIGUSR1, &action, NULL));
    CALL(sigaction(SIGUSR1, NULL, &old));
    SHOW(old.sa_handler == handler);
    SHOW((old.sa_flags & SA_RESTART) != 0);
    CALL(sigprocmask(77, &action.sa_mask, NULL));
    CALL(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 4));
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    sigprocmask(SIG_SETMASK, NULL, &set);
    printf("%d %d\n", sigismember(&set, SIGKILL), sigismember(&set, SIGSTOP));
    return 0;
}
