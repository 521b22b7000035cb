/* A sleep goes on after a signal without effect. */
#include "abi.h"

int main(void)
{
    struct timespec time = {0, 60000000};
    int64_t begun = now(CLOCK_MONOTONIC);
    signal(SIGALRM, SIG_IGN);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 20000}}, NULL);
    CALL(nanosleep(&time, NULL));
    SHOW(now(CLOCK_MONOTONIC) - begun >= 60000000);
    return 0;
}
