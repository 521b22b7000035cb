/* Requeued threads wait at the second word. */
#include "abi.h"

static uint32_t first, second;
static void *work(void *argument)
{
    go((int)(long)argument);
    syscall(SYS_futex, &first, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    long moved = 0, woken = 0;
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)i);
    while (moved < 4) {
        moved += syscall(SYS_futex, &first, FUTEX_CMP_REQUEUE_PRIVATE, 0, 10L, &second, 0);
        sched_yield();
    }
    SHOW(moved);
    SHOW(syscall(SYS_futex, &first, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0));
    woken = syscall(SYS_futex, &second, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0);
    SHOW(woken);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
