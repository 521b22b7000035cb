/* A descriptor is passed on over a socket. */
#include "abi.h"

int main(void)
{
    char text[16] = "", room[CMSG_SPACE(sizeof(int))] = "", byte = 'x';
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    int fds[2], channel[2], got;
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
    MUST(pipe(channel));
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(control), &channel[0], sizeof(int));
    CALL(sendmsg(fds[0], &message, 0));
    close(channel[0]);
    memset(room, 0, sizeof(room));
    message.msg_controllen = sizeof(room);
    CALL(recvmsg(fds[1], &message, 0));
    memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    MUST(write(channel[1], "passed", 6));
    CALL(read(got, text, 15));
    TEXT(text);
    return 0;
}
