/* A subreaper gets the orphans below it. */
#include "abi.h"

static int channel[2];
static int grandchild(void)
{
    char byte;
    MUST(read(channel[0], &byte, 1));
    return 21;
}
static int child(void)
{
    spawn(grandchild);
    return 0;
}
int main(void)
{
    int status;
    MUST(pipe(channel));
    CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
    reap(spawn(child));
    MUST(write(channel[1], "", 1));
    MUST(wait(&status));
    tell_status(status);
    return 0;
}
