/* An interval timer tells once or again and again, and what is left. */
#include "abi.h"

static volatile sig_atomic_t count;
static void handler(int n)
{
    count += n == SIGALRM;
}
int main(void)
{
    struct itimerval set = {{0, 10000}, {0, 10000}}, got;
    sigset_t block = set_of(SIGALRM), none = set_of(0);
    on_signal(SIGALRM, handler, 0);
    sigprocmask(SIG_BLOCK, &block, NULL);
    CALL(setitimer(ITIMER_REAL, &set, NULL));
    while (count < 5)
        sigsuspend(&none);
    CALL(getitimer(ITIMER_REAL, &got));
    SHOW(got.it_interval.tv_usec);
    SHOW(got.it_value.tv_sec == 0 && got.it_value.tv_usec <= 10000);
    set = (struct itimerval){{0, 0}, {100, 0}};
    CALL(setitimer(ITIMER_REAL, &set, &got));
    SHOW(got.it_interval.tv_usec);
    set.it_value.tv_sec = 0;
    CALL(setitimer(ITIMER_REAL, &set, &got));
    SHOW(got.it_value.tv_sec >= 90 && got.it_value.tv_sec <= 100);
    set.it_value.tv_usec = 1000000;
    CALL(setitimer(ITIMER_REAL, &set, NULL));
    CALL(setitimer(9, &set, NULL));
    CALL(getitimer(9, &got));
    return 0;
}
