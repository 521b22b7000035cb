/* A message carries at most 253 descriptors, also of one file, and a socket takes such messages until it is full. */
#include "abi.h"

#define MOST 253

static char room[CMSG_SPACE((MOST + 1) * sizeof(int))];
static char byte = 'x';
static struct iovec data = {&byte, 1};

/* The call itself: musl before 1.2.4 refuses to pass on so much control data. */
static long pass(int to, int file, int count)
{
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room};
    struct cmsghdr *control = (struct cmsghdr *)(void *)room;

    message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    memset(room, 0, sizeof(room));
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    for (int i = 0; i < count; i++)
        memcpy(CMSG_DATA(control) + (size_t)i * sizeof(int), &file, sizeof(int));
    return syscall(SYS_sendmsg, to, &message, MSG_DONTWAIT);
}

/* Receives a message, and closes what it brings. Returns how many descriptors that are; 0: there is no message. */
static int receive(int from)
{
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *control = (struct cmsghdr *)(void *)room;
    int count, got;

    if (syscall(SYS_recvmsg, from, &message, MSG_DONTWAIT) != 1)
        return 0;
    count = (int)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (int i = 0; i < count; i++) {
        memcpy(&got, CMSG_DATA(control) + (size_t)i * sizeof(int), sizeof(int));
        close(got);
    }
    return count;
}

int main(void)
{
    int fds[2], channel[2], sent = 1, received = 0;

    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
    MUST(pipe(channel));
    CALL(pass(fds[0], channel[0], MOST + 1));
    CALL(pass(fds[0], channel[0], MOST));
    while (pass(fds[0], channel[0], MOST) == 1)
        sent++;
    CALL(pass(fds[0], channel[0], MOST));
    SHOW(sent > 100);
    while (receive(fds[1]) == MOST)
        received++;
    SHOW(received == sent);
    CALL(pass(fds[0], channel[0], MOST));
    SHOW(receive(fds[1]));
    return 0;
}
