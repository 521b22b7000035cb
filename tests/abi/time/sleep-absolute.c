/* clock_nanosleep until a time; one that is over returns at once. */
#include "abi.h"

int main(void)
{
    int64_t end = now(CLOCK_MONOTONIC) + 30000000;
    struct timespec time = {end / 1000000000, end % 1000000000};
    CODE(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL));
    SHOW(now(CLOCK_MONOTONIC) >= end);
    CODE(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL));
    end = now(CLOCK_REALTIME) + 30000000;
    time = (struct timespec){end / 1000000000, end % 1000000000};
    CODE(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL));
    SHOW(now(CLOCK_REALTIME) >= end);
    CODE(clock_nanosleep(99, 0, &time, NULL));
    CODE(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &time, NULL));
    return 0;
}
