/* A write whose end is not mapped writes nothing or what it can, and never more. */
#include "abi.h"

int main(void)
{
    char *a = MAP(2 * PAGE, MAP_PRIVATE), got[64];
    int fds[2];
    MUST(munmap(a + PAGE, PAGE));
    MUST(pipe2(fds, O_NONBLOCK));
    memset(a, 'x', PAGE);
    CALL(write(fds[1], a + PAGE - 8, 8));
    CALL(read(fds[0], got, sizeof(got)));
    CALL(write(fds[1], a + PAGE, 0));
    CALL(read(fds[0], got, sizeof(got)));
    return 0;
}
