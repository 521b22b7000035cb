/* A clone's end sends the signal that was asked for. */
#include "abi.h"

static volatile sig_atomic_t got;
static void handler(int n)
{
    got = n;
}
static char stack[65536] __attribute__((aligned(16)));
static int work(void *argument)
{
    return argument == NULL;
}
int main(void)
{
    int status;
    pid_t pid;
    on_signal(SIGUSR1, handler, SA_RESTART);
    pid = (pid_t)MUST(clone(work, stack + sizeof(stack), SIGUSR1, NULL));
    CALL(waitpid(pid, &status, 0));
    SHOW(waitpid(pid, &status, __WALL) == pid);
    tell_status(status);
    SHOW(got == SIGUSR1);
    return 0;
}
