/* What setting clocks refuses. */
#include "abi.h"

int main(void)
{
    struct timespec time = {100, 0};
    struct timeval day = {0, -5};
    CALL(clock_settime(CLOCK_MONOTONIC, &time));
    time.tv_nsec = -1;
    CALL(clock_settime(CLOCK_REALTIME, &time));
    CALL(clock_settime(99, &time));
    CALL(settimeofday(&day, NULL));
    return 0;
}
