/* Datagrams keep their borders, what does not fit is cut off. */
#include "abi.h"

int main(void)
{
    char text[16] = "";
    int fds[2];
    MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
    CALL(send(fds[0], "first", 5, 0));
    CALL(send(fds[0], "second", 6, 0));
    CALL(recv(fds[1], text, 15, 0));
    TEXT(text);
    CALL(recv(fds[1], text, 3, MSG_TRUNC));
    CALL(recv(fds[1], text, 3, MSG_DONTWAIT));
    return 0;
}
