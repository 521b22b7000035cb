/* An epoll in an epoll, and in poll. */
#include "abi.h"

int main(void)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = 1}, got;
    struct pollfd list;
    int fds[2], inner = (int)MUST(epoll_create1(0)), outer = (int)MUST(epoll_create1(0));
    MUST(pipe(fds));
    MUST(epoll_ctl(inner, EPOLL_CTL_ADD, fds[0], &event));
    CALL(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event));
    CALL(epoll_ctl(inner, EPOLL_CTL_ADD, outer, &event));
    list = (struct pollfd){outer, POLLIN, 0};
    CALL(poll(&list, 1, 0));
    MUST(write(fds[1], "x", 1));
    CALL(epoll_wait(outer, &got, 1, 0));
    CALL(poll(&list, 1, 0));
    return 0;
}
