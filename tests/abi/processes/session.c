/* setsid makes a session and a group without a terminal. */
#include "abi.h"

static int child(void)
{
    SHOW(setsid() == getpid());
    SHOW(getsid(0) == getpid());
    SHOW(getpgrp() == getpid());
    CALL(setsid());
    CALL(setpgid(0, 0));
    CALL(open("/dev/tty", O_RDWR));
    return 0;
}
int main(void)
{
    reap(spawn(child));
    return 0;
}
