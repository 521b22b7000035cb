/* The CPU clocks of another process and thread. */
#include "abi.h"

static atomic_int done;
static void *work(void *argument)
{
    while (!done)
        sched_yield();
    return argument;
}
int main(void)
{
    clockid_t clock;
    pthread_t thread = start(work, NULL);
    CODE(clock_getcpuclockid(0, &clock));
    SHOW(now(clock) > 0);
    CODE(pthread_getcpuclockid(thread, &clock));
    SHOW(now(clock) >= 0);
    done = 1;
    pthread_join(thread, NULL);
    CODE(clock_getcpuclockid(999999, &clock));
    return 0;
}
