/* wait4 ends with EINTR, or goes on with SA_RESTART. */
#include "abi.h"

static atomic_int *step;
static void handler(int n)
{
    say(n == SIGUSR1 ? "plain\n" : "restart\n");
    if (n == SIGUSR2)
        *step = 2;
}
static int channel[2];
static int child(void)
{
    char byte;
    MUST(read(channel[0], &byte, 1));
    return 1;
}
static int poker(void)
{
    until_asleep(getppid(), getppid());
    kill(getppid(), SIGUSR1);
    while (*step == 0)
        sched_yield();
    until_asleep(getppid(), getppid());
    kill(getppid(), SIGUSR2);
    while (*step == 1)
        sched_yield();
    MUST(write(channel[1], "", 1));
    return 0;
}
int main(void)
{
    pid_t pid, other;
    int status;
    on_signal(SIGUSR1, handler, 0);
    on_signal(SIGUSR2, handler, SA_RESTART);
    MUST(pipe(channel));
    step = (atomic_int *)MAP(PAGE, MAP_SHARED);
    pid = spawn(child);
    other = spawn(poker);
    CALL(waitpid(pid, &status, 0));
    *step = 1;
    SHOW(waitpid(pid, &status, 0) == pid);
    tell_status(status);
    reap(other);
    return 0;
}
