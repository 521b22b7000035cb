/* A thread that computes on another CPU is interrupted by a signal. */
#include "abi.h"

static atomic_int running, handled;
static void handler(int n)
{
    handled = n;
}
static void *work(void *argument)
{
    go(1);
    running = 1;
    while (!handled)
        __asm__ volatile("pause");
    return argument;
}
int main(void)
{
    pthread_t thread;
    on_signal(SIGUSR1, handler, 0);
    thread = start(work, NULL);
    while (!running)
        sched_yield();
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    SHOW(handled == SIGUSR1);
    return 0;
}
