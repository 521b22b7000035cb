/* Parent and child share a file's offset. */
#include "abi.h"

static int fd;
static int child(void)
{
    MUST(write(fd, "child ", 6));
    return 0;
}
int main(void)
{
    fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    MUST(write(fd, "parent ", 7));
    reap(spawn(child));
    MUST(write(fd, "again", 5));
    tell_file("a");
    return 0;
}
