/* An orphan's parent is process 1. */
#include "abi.h"

static int channel[2], release_it[2];
static int grandchild(void)
{
    char byte;
    MUST(read(release_it[0], &byte, 1));
    int adopted = getppid() == 1;
    MUST(write(channel[1], adopted ? "1" : "?", 1));
    return 0;
}
static int child(void)
{
    spawn(grandchild);
    return 0;
}
int main(void)
{
    char byte = 0;
    MUST(pipe(channel));
    MUST(pipe(release_it));
    reap(spawn(child));
    MUST(write(release_it[1], "", 1));
    MUST(read(channel[0], &byte, 1));
    SHOW(byte);
    CALL(wait(NULL));
    return 0;
}
