/* The CPU time of a process is that of all its threads, on all CPUs. */
#include "abi.h"

static void *work(void *argument)
{
    go((int)(long)argument);
    while (now(CLOCK_THREAD_CPUTIME_ID) < 50000000) {
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    SHOW(now(CLOCK_PROCESS_CPUTIME_ID) >= 150000000);
    SHOW(now(CLOCK_THREAD_CPUTIME_ID) < now(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
