/* A child has its parent's memory, descriptors and offsets, and no timers or locked memory. */
#include "abi.h"

static int fds[2];
static int child(void)
{
    struct itimerval timer;
    char byte;
    getitimer(ITIMER_REAL, &timer);
    SHOW(timer.it_value.tv_sec);
    MUST(read(fds[0], &byte, 1));
    SHOW(byte);
    CALL(close(fds[0]));
    return 0;
}
int main(void)
{
    struct itimerval timer = {{0, 0}, {100, 0}};
    char byte;
    MUST(pipe(fds));
    MUST(write(fds[1], "ab", 2));
    setitimer(ITIMER_REAL, &timer, NULL);
    reap(spawn(child));
    MUST(read(fds[0], &byte, 1));
    SHOW(byte);
    return 0;
}
