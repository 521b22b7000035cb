/* A timer that fires while its signal is pending counts overruns. */
#include "abi.h"

int main(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec set = {{0, 5000000}, {0, 5000000}};
    sigset_t block = set_of(SIGUSR1);
    siginfo_t info;
    timer_t timer;
    sigprocmask(SIG_BLOCK, &block, NULL);
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
    MUST(timer_settime(timer, 0, &set, NULL));
    sleep_ms(60);
    MUST(sigwaitinfo(&block, &info));
    SHOW(timer_getoverrun(timer) >= 5);
    SHOW(info.si_code == SI_TIMER);
    return 0;
}
