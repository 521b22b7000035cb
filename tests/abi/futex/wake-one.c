/* A wake of one wakes one of two; a wake of all the rest. */
#include "abi.h"

static uint32_t word;
static atomic_int woken;
static void *work(void *argument)
{
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    woken++;
    return argument;
}
int main(void)
{
    pthread_t threads[2] = {start(work, NULL), start(work, NULL)};
    while (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0)
        sched_yield();
    while (woken == 0)
        sched_yield();
    SHOW(woken);
    while (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0) == 0)
        sched_yield();
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    SHOW(woken);
    return 0;
}
