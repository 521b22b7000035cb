/* The clock of real time can be set, and sleepers on it notice. */
#include "abi.h"

int main(void)
{
    struct timespec time, old;
    int64_t mono = now(CLOCK_MONOTONIC);
    MUST(clock_gettime(CLOCK_REALTIME, &old));
    time = old;
    time.tv_sec += 1000;
    CALL(clock_settime(CLOCK_REALTIME, &time));
    SHOW(now(CLOCK_REALTIME) / 1000000000 - old.tv_sec >= 1000);
    old.tv_sec += (now(CLOCK_MONOTONIC) - mono) / 1000000000;
    CALL(clock_settime(CLOCK_REALTIME, &old));
    SHOW(now(CLOCK_MONOTONIC) - mono < 500000000000);
    return 0;
}
