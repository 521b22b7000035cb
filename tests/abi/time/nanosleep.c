/* nanosleep takes its time, and refuses what is none. */
#include "abi.h"

int main(void)
{
    struct timespec time = {0, 30000000};
    int64_t begun = now(CLOCK_MONOTONIC);
    CALL(nanosleep(&time, NULL));
    SHOW(now(CLOCK_MONOTONIC) - begun >= 30000000);
    time.tv_nsec = 1000000000;
    CALL(nanosleep(&time, NULL));
    time.tv_nsec = -1;
    CALL(nanosleep(&time, NULL));
    time = (struct timespec){-1, 0};
    CALL(nanosleep(&time, NULL));
    CALL(syscall(SYS_nanosleep, NULL, NULL));
    time = (struct timespec){0, 0};
    CALL(nanosleep(&time, NULL));
    return 0;
}
