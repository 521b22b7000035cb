/* Threads that wait are woken while the waker moves from CPU to CPU. */
#include "abi.h"

static atomic_uint word, answered;
static void *work(void *argument)
{
    for (uint32_t i = 0; i < 30; i++) {
        while (word == i)
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
        answered++;
        syscall(SYS_futex, &answered, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    return argument;
}
int main(void)
{
    pthread_t thread = start(work, NULL);
    for (uint32_t i = 0; i < 30; i++) {
        go((int)i);
        word++;
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        while (answered == i)
            syscall(SYS_futex, &answered, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
    }
    pthread_join(thread, NULL);
    SHOW(answered);
    return 0;
}
