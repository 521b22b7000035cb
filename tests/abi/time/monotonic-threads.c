/* A time that another thread has read before is not later, on different CPUs. */
#include "abi.h"

static atomic_llong latest;
static atomic_int wrong;
static void *work(void *argument)
{
    go((int)(long)argument);
    for (int i = 0; i < 2000; i++) {
        long long before = latest, time = now(CLOCK_MONOTONIC);
        if (time < before)
            wrong++;
        while (before < time && !atomic_compare_exchange_weak(&latest, &before, time)) {
        }
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    SHOW(wrong);
    return 0;
}
