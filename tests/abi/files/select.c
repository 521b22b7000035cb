/* select with read, write and time; bad descriptors. */
#include "abi.h"

int main(void)
{
    fd_set in, out;
    struct timeval time = {0, 20000};
    int fds[2];
    MUST(pipe(fds));
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(fds[0], &in);
    FD_SET(fds[1], &out);
    CALL(select(fds[1] + 1, &in, &out, NULL, &time));
    printf("%d %d\n", FD_ISSET(fds[0], &in) != 0, FD_ISSET(fds[1], &out) != 0);
    FD_SET(fds[0], &in);
    CALL(select(fds[1] + 1, &in, NULL, NULL, &time));
    SHOW(time.tv_usec);
    FD_SET(50, &in);
    CALL(select(60, &in, NULL, NULL, &time));
    CALL(select(-1, NULL, NULL, NULL, &time));
    time.tv_usec = -5;
    CALL(select(0, NULL, NULL, NULL, &time));
    return 0;
}
