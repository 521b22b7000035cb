/* A pair of stream sockets, in both directions, half closed, closed. */
#include "abi.h"

int main(void)
{
    char text[16] = "";
    int fds[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
    CALL(write(fds[0], "to 1", 4));
    CALL(send(fds[1], "to 0", 4, 0));
    CALL(read(fds[1], text, 15));
    TEXT(text);
    CALL(recv(fds[0], text, 2, MSG_PEEK));
    CALL(recv(fds[0], text, 15, 0));
    TEXT(text);
    CALL(recv(fds[0], text, 15, MSG_DONTWAIT));
    CALL(shutdown(fds[0], SHUT_WR));
    CALL(read(fds[1], text, 15));
    CALL(write(fds[1], "still", 5));
    CALL(read(fds[0], text, 15));
    close(fds[0]);
    CALL(send(fds[1], "x", 1, MSG_NOSIGNAL));
    signal(SIGPIPE, SIG_IGN);
    CALL(write(fds[1], "x", 1));
    return 0;
}
