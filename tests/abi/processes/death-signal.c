/* A child can be signalled when its parent ends. */
#include "abi.h"

static int channel[2];
static int grandchild(void)
{
    CALL(prctl(PR_SET_PDEATHSIG, SIGKILL));
    MUST(write(channel[1], "r", 1));
    sleep_ms(3000);
    return 1;
}
static int child(void)
{
    char byte;
    spawn(grandchild);
    MUST(read(channel[0], &byte, 1));
    return 0;
}
int main(void)
{
    char byte;
    MUST(pipe(channel));
    reap(spawn(child));
    close(channel[1]);
    int64_t begun = now(CLOCK_MONOTONIC);
    SHOW(read(channel[0], &byte, 1));
    SHOW(now(CLOCK_MONOTONIC) - begun < 2000000000);
    return 0;
}
