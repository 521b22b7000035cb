/* EPOLLET tells once for each event, EPOLLONESHOT once until it is set again. */
#include "abi.h"

int main(void)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET}, got;
    char byte;
    int fds[2], fd = (int)MUST(epoll_create1(0));
    MUST(pipe(fds));
    MUST(epoll_ctl(fd, EPOLL_CTL_ADD, fds[0], &event));
    MUST(write(fds[1], "ab", 2));
    SHOW(epoll_wait(fd, &got, 1, 0));
    SHOW(epoll_wait(fd, &got, 1, 0));
    MUST(read(fds[0], &byte, 1));
    SHOW(epoll_wait(fd, &got, 1, 0));
    MUST(write(fds[1], "c", 1));
    SHOW(epoll_wait(fd, &got, 1, 0));
    event.events = EPOLLIN | EPOLLONESHOT;
    MUST(epoll_ctl(fd, EPOLL_CTL_MOD, fds[0], &event));
    SHOW(epoll_wait(fd, &got, 1, 0));
    SHOW(epoll_wait(fd, &got, 1, 0));
    MUST(epoll_ctl(fd, EPOLL_CTL_MOD, fds[0], &event));
    SHOW(epoll_wait(fd, &got, 1, 0));
    return 0;
}
