/* FUTEX_WAIT_BITSET's time is absolute, on either clock. */
#include "abi.h"

static void try(int flag, clockid_t clock)
{
    uint32_t word = 0;
    struct timespec time;
    int64_t end = now(clock) + 20000000;
    time.tv_sec = end / 1000000000;
    time.tv_nsec = end % 1000000000;
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | flag, 0, &time, NULL, FUTEX_BITSET_MATCH_ANY));
    SHOW(now(clock) >= end);
    time.tv_sec = 1;
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | flag, 0, &time, NULL, FUTEX_BITSET_MATCH_ANY));
}
int main(void)
{
    try(0, CLOCK_MONOTONIC);
    try(FUTEX_CLOCK_REALTIME, CLOCK_REALTIME);
    return 0;
}
