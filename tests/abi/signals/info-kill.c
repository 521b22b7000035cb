/* What a handler is told about a signal of kill, tgkill and sigqueue. */
#include "abi.h"

static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d pid %d uid %d value %d\n", signal_name(n), info->si_code, info->si_pid == getpid(),
           info->si_uid == getuid(), info->si_code == SI_QUEUE ? info->si_value.sival_int : -(u == NULL));
}
int main(void)
{
    union sigval value = {.sival_int = 77};
    on_info(SIGUSR1, handler, 0);
    kill(getpid(), SIGUSR1);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
    CALL(sigqueue(getpid(), SIGUSR1, value));
    return 0;
}
