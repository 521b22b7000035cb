/* A wait that a handler interrupts ends with EINTR, and with SA_RESTART goes on. */
#include "abi.h"

static uint32_t word;
static void handler(int n)
{
    if (n == SIGUSR2)
        word = 1;
    say("handler\n");
}
static atomic_int tid;
static void *work(void *argument)
{
    tid = (int)syscall(SYS_gettid);
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
    return argument;
}
static void until_waits(void)
{
    while (tid == 0)
        sched_yield();
    until_asleep(getpid(), tid);
    tid = 0;
}
int main(void)
{
    pthread_t thread;
    on_signal(SIGUSR1, handler, 0);
    on_signal(SIGUSR2, handler, SA_RESTART);
    thread = start(work, NULL);
    until_waits();
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    thread = start(work, NULL);
    until_waits();
    pthread_kill(thread, SIGUSR2);
    pthread_join(thread, NULL);
    return 0;
}
