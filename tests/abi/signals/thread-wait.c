/* sigwait in a thread takes what the process gets. */
#include "abi.h"

static void *work(void *argument)
{
    sigset_t set = set_of(SIGTERM);
    int number;
    go(1);
    CODE(sigwait(&set, &number));
    printf("%s\n", signal_name(number));
    return argument;
}
int main(void)
{
    sigset_t set = set_of(SIGTERM);
    pthread_t thread;
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    thread = start(work, NULL);
    kill(getpid(), SIGTERM);
    pthread_join(thread, NULL);
    return 0;
}
