/* Each thread has a mask, inherited from its creator. */
#include "abi.h"

static void *work(void *argument)
{
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    SHOW(sigismember(&set, SIGUSR1));
    SHOW(sigismember(&set, SIGUSR2));
    sigemptyset(&set);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    return argument;
}
int main(void)
{
    sigset_t set = set_of(SIGUSR1);
    CODE(pthread_sigmask(SIG_BLOCK, &set, NULL));
    pthread_join(start(work, NULL), NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    SHOW(sigismember(&set, SIGUSR1));
    CODE(pthread_sigmask(99, &set, NULL));
    return 0;
}
