/* How large a datagram may be beside SO_SNDBUF, and that it goes into an empty queue. */
#include "abi.h"

static char data[1 << 20], back[1 << 20];

static void one(int type, size_t size)
{
    int ends[2];
    long sent;

    MUST(socketpair(AF_UNIX, type, 0, ends));
    sent = send(ends[0], data, size, MSG_DONTWAIT);
    if (sent < 0)
        printf("%zu: %s\n", size, errno_name(errno));
    else
        printf("%zu: sent %ld, received %ld\n", size, sent, recv(ends[1], back, sizeof(back), MSG_DONTWAIT));
    close(ends[0]);
    close(ends[1]);
}
static void with_buffer(int type, int wanted)
{
    int ends[2], size = wanted;
    socklen_t length = sizeof(size);
    long sent;

    MUST(socketpair(AF_UNIX, type, 0, ends));
    MUST(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
    MUST(getsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, &length));
    printf("SO_SNDBUF %d: %d\n", wanted, size);
    for (int part = 4; part >= 1; part /= 2) {
        size_t many = (size_t)(size / part);

        if (part == 1)
            many -= 32;
        sent = send(ends[0], data, many, MSG_DONTWAIT);
        if (sent < 0)
            printf("%zu: %s\n", many, errno_name(errno));
        else
            printf("%zu: sent %ld, received %ld\n", many, sent, recv(ends[1], back, sizeof(back), MSG_DONTWAIT));
    }
    CALL(send(ends[0], data, (size_t)size - 31, MSG_DONTWAIT));
    CALL(send(ends[0], data, (size_t)size, MSG_DONTWAIT));
    close(ends[0]);
    close(ends[1]);
}
int main(void)
{
    int ends[2], size;
    socklen_t length = sizeof(size);
    long count = 0;

    MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    CALL(getsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, &length));
    SHOW(size);
    CALL(getsockopt(ends[0], SOL_SOCKET, SO_RCVBUF, &size, &length));
    SHOW(size);
    one(SOCK_DGRAM, 60000);
    one(SOCK_SEQPACKET, 60000);
    one(SOCK_DGRAM, 212992 - 31);
    one(SOCK_SEQPACKET, 212992);
    with_buffer(SOCK_DGRAM, 1);
    with_buffer(SOCK_DGRAM, 10000);
    with_buffer(SOCK_DGRAM, 25000);
    with_buffer(SOCK_SEQPACKET, 20000);
    /* A second one fits beside the first only if the first is small. */
    while (send(ends[0], data, 30000, MSG_DONTWAIT) > 0)
        count++;
    printf("then %s\n", errno_name(errno));
    SHOW(count > 1);
    CALL(recv(ends[1], back, sizeof(back), 0));
    return 0;
}
