/* A timer can be set to a time, also one that is over. */
#include "abi.h"

int main(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec set = {{0, 0}, {1, 0}}, left;
    sigset_t block = set_of(SIGUSR1);
    timer_t timer;
    sigprocmask(SIG_BLOCK, &block, NULL);
    MUST(timer_create(CLOCK_REALTIME, &event, &timer));
    CALL(timer_settime(timer, TIMER_ABSTIME, &set, NULL));
    SHOW(sigwaitinfo(&block, NULL) == SIGUSR1);
    CALL(timer_gettime(timer, &left));
    SHOW(left.it_value.tv_sec);
    set.it_value.tv_nsec = -1;
    CALL(timer_settime(timer, 0, &set, NULL));
    event.sigev_signo = 100;
    CALL(timer_create(CLOCK_REALTIME, &event, &timer));
    event.sigev_signo = SIGUSR1;
    CALL(timer_create(99, &event, &timer));
    return 0;
}
