/* A thread that allows it is cancelled in the middle of a loop, on another CPU. */
#include "abi.h"

static atomic_int running;
static void *work(void *argument)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    go(1);
    running = 1;
    for (;;)
        __asm__ volatile("pause");
    return argument;
}
int main(void)
{
    void *result;
    pthread_t thread = start(work, NULL);
    while (!running)
        sched_yield();
    CODE(pthread_cancel(thread));
    pthread_join(thread, &result);
    SHOW(result == PTHREAD_CANCELED);
    return 0;
}
