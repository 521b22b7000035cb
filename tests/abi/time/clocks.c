/* Every clock can be read and says its resolution. */
#include "abi.h"

int main(void)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME,
                                       CLOCK_MONOTONIC,
                                       CLOCK_PROCESS_CPUTIME_ID,
                                       CLOCK_THREAD_CPUTIME_ID,
                                       CLOCK_MONOTONIC_RAW,
                                       CLOCK_REALTIME_COARSE,
                                       CLOCK_MONOTONIC_COARSE,
                                       CLOCK_BOOTTIME,
                                       8,
                                       9,
                                       10,
                                       11,
                                       12,
                                       100,
                                       -1};
    struct timespec time;
    for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
        printf("clock %d ", clocks[i]);
        CALL(clock_gettime(clocks[i], &time));
        printf("clock %d ", clocks[i]);
        CALL(clock_getres(clocks[i], &time));
    }
    return 0;
}
