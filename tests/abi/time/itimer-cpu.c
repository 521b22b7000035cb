/* Timers of CPU time: SIGVTALRM and SIGPROF. */
#include "abi.h"

static volatile sig_atomic_t virtual_count, prof_count;
static void handler(int n)
{
    if (n == SIGVTALRM)
        virtual_count++;
    else
        prof_count++;
}
int main(void)
{
    struct itimerval set = {{0, 0}, {0, 30000}};
    int64_t end = now(CLOCK_MONOTONIC) + 60000000000; /* on a busy machine */
    on_signal(SIGVTALRM, handler, 0);
    on_signal(SIGPROF, handler, 0);
    if (CALL(setitimer(ITIMER_VIRTUAL, &set, NULL)) != 0)
        return 1;
    while (virtual_count == 0 && now(CLOCK_MONOTONIC) < end) {
    }
    SHOW(virtual_count);
    CALL(setitimer(ITIMER_PROF, &set, NULL));
    while (prof_count == 0 && now(CLOCK_MONOTONIC) < end) {
    }
    SHOW(prof_count);
    return 0;
}
