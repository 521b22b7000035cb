/* What the socket calls refuse. */
#include "abi.h"

int main(void)
{
    char byte;
    int fds[2], fd;
    MUST(pipe(fds));
    CALL(socket(99, SOCK_STREAM, 0));
    CALL(socket(AF_UNIX, 99, 0));
    CALL(listen(fds[0], 1));
    CALL(send(fds[1], "x", 1, 0));
    CALL(connect(99, NULL, 0));
    fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
    CALL(send(fd, "x", 1, MSG_NOSIGNAL));
    CALL(recv(fd, &byte, 1, MSG_DONTWAIT));
    CALL(accept(fd, NULL, NULL));
    CALL(shutdown(fd, SHUT_RD));
    CALL(socketpair(AF_UNIX, SOCK_STREAM, 77, fds));
    CALL(lseek(fd, 0, SEEK_SET));
    return 0;
}
