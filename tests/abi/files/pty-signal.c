/* ^C on a pseudo terminal interrupts the process group in its foreground. */
#include "abi.h"

static int master;
static int child(void)
{
    int fd;
    MUST(setsid());
    fd = (int)MUST(open(ptsname(master), O_RDWR));
    SHOW(tcgetpgrp(fd) == getpid());
    MUST(write(fd, "ready\n", 6));
    for (;;)
        pause();
}
int main(void)
{
    char text[64];
    pid_t pid;
    master = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY));
    MUST(grantpt(master));
    MUST(unlockpt(master));
    pid = spawn(child);
    MUST(read(master, text, sizeof(text)));
    CALL(write(master, "\003", 1));
    reap(pid);
    return 0;
}
