/* A stop stops all threads, and they go on together. */
#include "abi.h"

static atomic_long count;
static void *work(void *argument)
{
    go((int)(long)argument);
    for (;;)
        count++;
}
static int child(void)
{
    atomic_long *shared = (atomic_long *)MAP(PAGE, MAP_PRIVATE);
    start(work, (void *)1);
    start(work, (void *)2);
    while (count < 1000)
        sched_yield();
    raise(SIGSTOP);
    shared[0] = count;
    while (count < shared[0] + 1000)
        sched_yield();
    return 3;
}
int main(void)
{
    int status;
    pid_t pid = spawn(child);
    MUST(waitpid(pid, &status, WUNTRACED));
    tell_status(status);
    kill(pid, SIGCONT);
    reap(pid);
    return 0;
}
