/* A signal for the process goes to a thread that does not block it, on whatever CPU. */
#include "abi.h"

static atomic_int where;
static pthread_t target;
static void handler(int n)
{
    where = pthread_equal(pthread_self(), target) ? n : -1;
}
static void *work(void *argument)
{
    sigset_t set = set_of(SIGUSR1);
    go(1);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    while (where == 0)
        sched_yield();
    return argument;
}
int main(void)
{
    sigset_t set = set_of(SIGUSR1);
    on_signal(SIGUSR1, handler, 0);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    target = start(work, NULL);
    kill(getpid(), SIGUSR1);
    pthread_join(target, NULL);
    SHOW(where == SIGUSR1);
    return 0;
}
