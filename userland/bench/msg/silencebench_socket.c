/* silencebench: sockets in packets of each other, and many that send to one. */
#include "userland/bench/msg/silencebench.h"

#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CIRCLES 1000     /* and as many peers; both are under way, and each once more */
#define SENT_AT_ONCE 200 /* descriptors in a message */
#define SENDERS 3000     /* sockets that are connected to one */

static int pipes[2];

/* Sends the descriptors FDS, COUNT of them, through TO. */
static void send_descriptors(int to, const int *fds, size_t count)
{
    char room[CMSG_SPACE(SENT_AT_ONCE * sizeof(int))] = {0}, byte = 0;
    struct iovec span = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &span, .msg_iovlen = 1, .msg_control = room, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);

    *control = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(control), fds, count * sizeof(int));
    if (sendmsg(to, &message, 0) != 1)
        silence_fail("sendmsg");
}

/* CIRCLES sockets that are each in a packet of their own, all of them with their peers in packets to PIPES[1]. */
static void make_circles(void)
{
    int fds[SENT_AT_ONCE];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pipes) != 0)
        silence_fail("socketpair");
    for (int done = 0; done < CIRCLES; done += SENT_AT_ONCE / 2) {
        for (int i = 0; i < SENT_AT_ONCE; i += 2) {
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds + i) != 0)
                silence_fail("socketpair");
            send_descriptors(fds[i + 1], &fds[i], 1);
        }
        send_descriptors(pipes[0], fds, SENT_AT_ONCE);
        for (int i = 0; i < SENT_AT_ONCE; i++)
            close(fds[i]);
    }
}

/* First nobody is in a circle, but it has to be looked for; then all are. */
static void close_circles(void)
{
    close(dup(pipes[1]));
    close(pipes[1]);
    close(pipes[0]);
}

/* SENDERS sockets that wait for room and are connected to PIPES[0], in packets to PIPES[1]'s peer. */
static void make_senders(void)
{
    static const char name[] = "silence";
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name));
    int fds[SENT_AT_ONCE], kept[2];

    memcpy(to.sun_path + 1, name, sizeof(name) - 1);
    pipes[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (pipes[0] < 0 || bind(pipes[0], (struct sockaddr *)&to, length) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, kept) != 0)
        silence_fail("socket");
    for (int done = 0; done < SENDERS; done += SENT_AT_ONCE) {
        for (int i = 0; i < SENT_AT_ONCE; i++) {
            struct pollfd poll_for = {.events = POLLIN};

            fds[i] = poll_for.fd = socket(AF_UNIX, SOCK_DGRAM, 0);
            if (fds[i] < 0 || connect(fds[i], (struct sockaddr *)&to, length) != 0 || poll(&poll_for, 1, 0) != 0)
                silence_fail("connect");
        }
        if (done == 0 && send(fds[0], name, sizeof(name), 0) != (ssize_t)sizeof(name))
            silence_fail("send");
        send_descriptors(kept[0], fds, SENT_AT_ONCE);
        for (int i = 0; i < SENT_AT_ONCE; i++)
            close(fds[i]);
    }
}

static void receive_and_close(void)
{
    char bytes[16];

    if (recv(pipes[0], bytes, sizeof(bytes), 0) < 0)
        silence_fail("recv");
    close(pipes[0]);
}

const struct silence_case silence_of_socket[] = {
    {"circles", "sockets in packets of each other, 3,000 of them", make_circles, close_circles, ANY_KERNEL},
    {"datagrams", "a receive from a socket that 3,000 are connected to, and its close", make_senders, receive_and_close,
     ANY_KERNEL},
    {0},
};
