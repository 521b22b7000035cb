/* epoll with pipes only, and its time. */
#include "abi.h"

int main(void)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = 1}, got[4];
    int a[2], b[2], fd = (int)MUST(epoll_create1(0));
    int64_t begun;
    MUST(pipe(a));
    MUST(pipe(b));
    MUST(epoll_ctl(fd, EPOLL_CTL_ADD, a[0], &event));
    event.data.fd = 2;
    MUST(epoll_ctl(fd, EPOLL_CTL_ADD, b[0], &event));
    begun = now(CLOCK_MONOTONIC);
    CALL(epoll_wait(fd, got, 4, 20));
    SHOW(now(CLOCK_MONOTONIC) - begun >= 20000000);
    MUST(write(b[1], "x", 1));
    CALL(epoll_wait(fd, got, 4, 30000));
    SHOW(got[0].data.fd);
    MUST(write(a[1], "x", 1));
    CALL(epoll_wait(fd, got, 4, 30000));
    CALL(epoll_wait(fd, got, 1, 30000));
    close(a[0]);
    CALL(epoll_wait(fd, got, 4, 30000));
    close(b[1]);
    CALL(epoll_wait(fd, got, 4, 0));
    printf("%x\n", got[0].events);
    return 0;
}
