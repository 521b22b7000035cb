/* exit_group's status is that of the call, whatever thread makes it. */
#include "abi.h"

static void *work(void *argument)
{
    syscall(SYS_exit_group, 44);
    return argument;
}
static int child(void)
{
    start(work, NULL);
    for (;;)
        pause();
}
static int alone(void)
{
    syscall(SYS_exit, 45);
    return 0;
}
int main(void)
{
    reap(spawn(child));
    reap(spawn(alone));
    return 0;
}
