/* Clocks of high resolution tell 1 ns. */
#include "abi.h"

int main(void)
{
    struct timespec time;
    MUST(clock_getres(CLOCK_MONOTONIC, &time));
    SHOW(time.tv_nsec);
    MUST(clock_getres(CLOCK_REALTIME, &time));
    SHOW(time.tv_nsec);
    CALL(clock_getres(CLOCK_REALTIME, NULL));
    return 0;
}
