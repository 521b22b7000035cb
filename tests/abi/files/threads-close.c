/* A descriptor closed by another thread is free for the next open. */
#include "abi.h"

static int fd;
static void *work(void *argument)
{
    go(1);
    CALL(close(fd));
    return argument;
}
int main(void)
{
    fd = (int)MUST(open("/dev/null", O_RDONLY));
    pthread_join(start(work, NULL), NULL);
    CALL(fcntl(fd, F_GETFD));
    SHOW(open("/dev/zero", O_RDONLY) == fd);
    return 0;
}
