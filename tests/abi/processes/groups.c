/* Process groups and sessions, and what is refused. */
#include "abi.h"

static int child(void)
{
    SHOW(getpgrp() == getppid());
    CALL(setpgid(0, 0));
    SHOW(getpgrp() == getpid());
    CALL(setsid());
    CALL(setpgid(0, 999999));
    CALL(setpgid(999999, 0));
    CALL(setpgid(0, -1));
    CALL(setpgid(getppid(), 0));
    SHOW(getpgid(getppid()) == getppid());
    CALL(getpgid(999999));
    CALL(getsid(999999));
    return 0;
}
int main(void)
{
    SHOW(getpgrp() == getpid());
    reap(spawn(child));
    return 0;
}
