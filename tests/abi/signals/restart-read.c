/* A read goes on after a handler with SA_RESTART and ends with EINTR without. */
#include "abi.h"

static int channel[2];
static void again(int n)
{
    say("handler\n");
    if (n == SIGUSR2)
        MUST(write(channel[1], "x", 1));
}
static void *send_soon(void *argument)
{
    until_asleep(getpid(), getpid());
    kill(getpid(), (int)(long)argument);
    return NULL;
}
int main(void)
{
    sigset_t set = set_of(SIGUSR1);
    pthread_t thread;
    char byte;
    MUST(pipe(channel));
    on_signal(SIGUSR1, again, 0);
    on_signal(SIGUSR2, again, SA_RESTART);
    sigaddset(&set, SIGUSR2);
    for (int i = 0; i < 2; i++) {
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        thread = start(send_soon, (void *)(long)(i == 0 ? SIGUSR1 : SIGUSR2));
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        CALL(read(channel[0], &byte, 1));
        pthread_join(thread, NULL);
    }
    return 0;
}
