/* A signal for a thread is handled by that thread. */
#include "abi.h"

static pthread_t target;
static atomic_int handled, right;
static void handler(int n)
{
    right = pthread_equal(pthread_self(), target) != 0 && n == SIGUSR1;
    handled = 1;
}
static void *work(void *argument)
{
    while (!handled)
        sched_yield();
    return argument;
}
int main(void)
{
    on_signal(SIGUSR1, handler, 0);
    target = start(work, NULL);
    CODE(pthread_kill(target, 0));
    CODE(pthread_kill(target, SIGUSR1));
    pthread_join(target, NULL);
    SHOW(right);
    CODE(pthread_kill(pthread_self(), 100));
    return 0;
}
