/* The CPU time of a thread grows with its work and not with its sleep. */
#include "abi.h"

int main(void)
{
    int64_t begun = now(CLOCK_THREAD_CPUTIME_ID), middle;
    volatile long sum = 0;
    for (long i = 0; i < 3000000; i++)
        sum += i;
    middle = now(CLOCK_THREAD_CPUTIME_ID);
    SHOW(middle > begun);
    sleep_ms(200);
    SHOW(now(CLOCK_THREAD_CPUTIME_ID) - middle < 150000000);
    SHOW(now(CLOCK_PROCESS_CPUTIME_ID) >= middle);
    SHOW(clock() > 0);
    return 0;
}
