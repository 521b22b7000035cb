/* sigwaitinfo and sigtimedwait take blocked signals; the latter gives up. */
#include "abi.h"

int main(void)
{
    sigset_t set = set_of(SIGUSR1);
    struct timespec time = {0, 20000000};
    siginfo_t info;
    sigprocmask(SIG_BLOCK, &set, NULL);
    CALL(sigtimedwait(&set, &info, &time));
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 5});
    CALL(sigwaitinfo(&set, &info));
    printf("code %d value %d\n", info.si_code, info.si_value.sival_int);
    time.tv_nsec = -1;
    CALL(sigtimedwait(&set, &info, &time));
    return 0;
}
