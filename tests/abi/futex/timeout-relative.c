/* FUTEX_WAIT's time is relative, and not over before. */
#include "abi.h"

int main(void)
{
    uint32_t word = 0;
    struct timespec time = {0, 20000000};
    int64_t begun = now(CLOCK_MONOTONIC);
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0));
    SHOW(now(CLOCK_MONOTONIC) - begun >= 20000000);
    time.tv_nsec = 0;
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0));
    return 0;
}
