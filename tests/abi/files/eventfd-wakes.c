/* A read of an eventfd waits for a thread on another CPU. */
#include "abi.h"

static int fd;
static void *work(void *argument)
{
    uint64_t value = 7;
    go(1);
    sleep_ms(20);
    MUST(write(fd, &value, 8));
    return argument;
}
int main(void)
{
    uint64_t value;
    struct pollfd list;
    pthread_t thread;
    fd = (int)MUST(eventfd(0, 0));
    list = (struct pollfd){fd, POLLIN | POLLOUT, 0};
    CALL(poll(&list, 1, 0));
    printf("%x\n", list.revents);
    thread = start(work, NULL);
    CALL(read(fd, &value, 8));
    SHOW(value);
    pthread_join(thread, NULL);
    return 0;
}
