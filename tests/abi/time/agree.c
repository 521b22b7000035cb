/* time, gettimeofday and the coarse and fine clocks agree. */
#include "abi.h"

int main(void)
{
    struct timeval day;
    int64_t a = now(CLOCK_REALTIME), b, c;
    gettimeofday(&day, NULL);
    b = (int64_t)day.tv_sec * 1000000000 + day.tv_usec * 1000;
    c = now(CLOCK_REALTIME);
    SHOW(b >= a - 1000 && b <= c);
    SHOW(labs(now(CLOCK_REALTIME_COARSE) - now(CLOCK_REALTIME)) < 500000000);
    SHOW(labs(now(CLOCK_MONOTONIC_COARSE) - now(CLOCK_MONOTONIC)) < 500000000);
    SHOW(labs(now(CLOCK_MONOTONIC_RAW) - now(CLOCK_MONOTONIC)) < 1000000000);
    SHOW(now(CLOCK_BOOTTIME) >= now(CLOCK_MONOTONIC) - 1000000);
    SHOW(labs(time(NULL) - now(CLOCK_REALTIME) / 1000000000) <= 1);
    SHOW(now(CLOCK_REALTIME) / 1000000000 > 1600000000);
    return 0;
}
