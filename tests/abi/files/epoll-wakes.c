/* A thread in epoll_wait is woken from another CPU, also for what is added meanwhile. */
#include "abi.h"

static int fd, fds[2];
static void *work(void *argument)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = 5};
    go(1);
    sleep_ms(20);
    MUST(epoll_ctl(fd, EPOLL_CTL_ADD, fds[0], &event));
    sleep_ms(20);
    MUST(write(fds[1], "x", 1));
    return argument;
}
int main(void)
{
    struct epoll_event got;
    pthread_t thread;
    fd = (int)MUST(epoll_create1(0));
    MUST(pipe(fds));
    thread = start(work, NULL);
    CALL(epoll_wait(fd, &got, 1, 30000));
    SHOW(got.data.fd);
    pthread_join(thread, NULL);
    return 0;
}
