/* A wake with a bitset wakes those who wait for one of its bits. */
#include "abi.h"

static uint32_t word;
static atomic_int woken[2];
static void *work(void *argument)
{
    long me = (long)argument;
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1 << me);
    woken[me] = 1;
    return NULL;
}
int main(void)
{
    pthread_t threads[2] = {start(work, (void *)0), start(work, (void *)1)};
    while (syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 5, NULL, NULL, 2) == 0)
        sched_yield();
    pthread_join(threads[1], NULL);
    printf("%d %d\n", woken[0], woken[1]);
    while (syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 5, NULL, NULL, 1) == 0)
        sched_yield();
    pthread_join(threads[0], NULL);
    printf("%d %d\n", woken[0], woken[1]);
    return 0;
}
