/* The end of a pseudo terminal's master hangs its session up. */
#include "abi.h"

static int master, channel[2];
static int child(void)
{
    MUST(setsid());
    MUST(open(ptsname(master), O_RDWR));
    close(master);
    MUST(write(channel[1], "", 1));
    for (;;)
        pause();
}
int main(void)
{
    char byte;
    pid_t pid;
    MUST(pipe(channel));
    master = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY));
    MUST(grantpt(master));
    MUST(unlockpt(master));
    pid = spawn(child);
    MUST(read(channel[0], &byte, 1));
    close(master);
    reap(pid);
    return 0;
}
