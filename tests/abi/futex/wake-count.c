/* The number of woken threads is told, over all CPUs. */
#include "abi.h"

static uint32_t word;
static atomic_int waiting;
static void *work(void *argument)
{
    go((int)(long)argument);
    waiting++;
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return argument;
}
int main(void)
{
    pthread_t threads[8];
    long woken = 0;
    for (long i = 0; i < 8; i++)
        threads[i] = start(work, (void *)i);
    while (woken < 8) {
        long now_woken = syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 3, NULL, NULL, 0);
        if (now_woken > 3)
            printf("too many: %ld\n", now_woken);
        woken += now_woken;
        sched_yield();
    }
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    SHOW(woken);
    return 0;
}
