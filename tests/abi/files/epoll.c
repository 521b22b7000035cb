/* epoll: add, wait, change, remove, and their errors. */
#include "abi.h"

int main(void)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 77}, got[4];
    int fds[2], fd = (int)MUST(epoll_create1(EPOLL_CLOEXEC));
    MUST(pipe(fds));
    CALL(epoll_ctl(fd, EPOLL_CTL_ADD, fds[0], &event));
    CALL(epoll_ctl(fd, EPOLL_CTL_ADD, fds[0], &event));
    CALL(epoll_wait(fd, got, 4, 0));
    MUST(write(fds[1], "x", 1));
    CALL(epoll_wait(fd, got, 4, 0));
    printf("%x %lld\n", got[0].events, (long long)got[0].data.u64);
    CALL(epoll_wait(fd, got, 4, 0));
    event.events = EPOLLOUT;
    CALL(epoll_ctl(fd, EPOLL_CTL_MOD, fds[0], &event));
    CALL(epoll_wait(fd, got, 4, 0));
    CALL(epoll_ctl(fd, EPOLL_CTL_DEL, fds[0], NULL));
    CALL(epoll_ctl(fd, EPOLL_CTL_DEL, fds[0], NULL));
    CALL(epoll_ctl(fd, EPOLL_CTL_ADD, fd, &event));
    CALL(epoll_ctl(fd, EPOLL_CTL_ADD, 99, &event));
    CALL(epoll_ctl(fds[0], EPOLL_CTL_ADD, fds[1], &event));
    CALL(epoll_wait(fd, got, 0, 0));
    put_file("file", "");
    CALL(epoll_ctl(fd, EPOLL_CTL_ADD, (int)MUST(open("file", O_RDONLY)), &event));
    return 0;
}
