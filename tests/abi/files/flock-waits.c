/* A waiting flock gets the lock when it is given back. */
#include "abi.h"

static int channel[2];
static int child(void)
{
    int fd = (int)MUST(open("a", O_RDWR));
    MUST(write(channel[1], "", 1));
    CALL(flock(fd, LOCK_EX));
    tell_file("a");
    return 0;
}
int main(void)
{
    char byte;
    int fd;
    pid_t pid;
    MUST(pipe(channel));
    put_file("a", "");
    fd = (int)MUST(open("a", O_RDWR));
    MUST(flock(fd, LOCK_EX));
    pid = spawn(child);
    MUST(read(channel[0], &byte, 1));
    sleep_ms(30);
    MUST(write(fd, "written before", 14));
    MUST(flock(fd, LOCK_UN));
    reap(pid);
    return 0;
}
