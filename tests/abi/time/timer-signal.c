/* A timer of timer_create sends its signal with its value. */
#include "abi.h"

static volatile sig_atomic_t got;
static void handler(int n, siginfo_t *info, void *u)
{
    got = info->si_value.sival_int + (info->si_code != SI_TIMER) + (n != SIGUSR1) + (u == NULL);
}
int main(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 500};
    struct itimerspec set = {{0, 0}, {0, 20000000}}, left;
    sigset_t block = set_of(SIGUSR1), none = set_of(0);
    timer_t timer;
    on_info(SIGUSR1, handler, 0);
    sigprocmask(SIG_BLOCK, &block, NULL);
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
    CALL(timer_settime(timer, 0, &set, NULL));
    while (got == 0)
        sigsuspend(&none);
    SHOW(got);
    set.it_value.tv_sec = 100;
    CALL(timer_settime(timer, 0, &set, NULL));
    CALL(timer_gettime(timer, &left));
    SHOW(left.it_value.tv_sec >= 90 && left.it_value.tv_sec <= 100);
    CALL(timer_getoverrun(timer));
    CALL(timer_delete(timer));
    CALL(timer_delete(timer));
    return 0;
}
