/* A datagram of half of SO_SNDBUF is sent at once into an empty queue; one that has no room waits for the receiver. */
#include "abi.h"

static char data[65536], got[65536];
static int pair[2], size;

static void shrink(int fd)
{
    socklen_t length = sizeof(size);

    size = 16384;
    MUST(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
    MUST(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &length));
}
static int sends(void)
{
    struct iovec parts[3] = {{data, 100}, {data + 100, (size_t)size / 2 - 150}, {data, 50}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};

    go(1);
    CALL(sendmsg(pair[0], &message, 0));
    for (int i = 0; i < 20; i++)
        MUST(send(pair[0], data, (size_t)size / 2, 0));
    return 0;
}
static void of_type(int type)
{
    struct pollfd source;
    long count = 0, sum = 0;
    pid_t child;

    printf("type %d\n", type);
    MUST(socketpair(AF_UNIX, type, 0, pair));
    shrink(pair[0]);
    source = (struct pollfd){.fd = pair[0], .events = POLLOUT};
    CALL(poll(&source, 1, 0));
    child = spawn(sends);
    while (count < 21) {
        sum += MUST(recv(pair[1], got, sizeof(got), 0));
        count++;
    }
    SHOW(sum);
    reap(child);
    CALL(recv(pair[1], got, sizeof(got), MSG_DONTWAIT));
    CALL(poll(&source, 1, 0));
    count = 0;
    while (send(pair[0], data, (size_t)size / 2, MSG_DONTWAIT) > 0)
        count++;
    printf("then %s, more than none: %d\n", errno_name(errno), count > 0);
    CALL(send(pair[0], data, (size_t)size + 1000, MSG_DONTWAIT));
    while (recv(pair[1], got, sizeof(got), MSG_DONTWAIT) > 0)
        count--;
    SHOW(count);
    close(pair[1]);
    CALL(send(pair[0], data, (size_t)size / 2, MSG_NOSIGNAL));
    close(pair[0]);
}
static void of_name(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "d"};
    struct timeval limit = {0, 50000};
    int receiver = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0)), sender = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
    long count = 0;

    MUST(bind(receiver, (struct sockaddr *)&at, sizeof(at)));
    shrink(sender);
    CALL(sendto(sender, data, (size_t)size / 2, 0, (struct sockaddr *)&at, sizeof(at)));
    CALL(sendto(sender, data, (size_t)size - 31, MSG_DONTWAIT, (struct sockaddr *)&at, sizeof(at)));
    CALL(sendto(sender, data, (size_t)size, 0, (struct sockaddr *)&at, sizeof(at)));
    MUST(setsockopt(sender, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)));
    while (sendto(sender, data, (size_t)size / 2, 0, (struct sockaddr *)&at, sizeof(at)) > 0)
        count++;
    printf("%s\n", errno_name(errno));
    CALL(recv(receiver, got, 100, MSG_TRUNC));
}
int main(void)
{
    of_type(SOCK_DGRAM);
    of_type(SOCK_SEQPACKET);
    of_name();
    return 0;
}
