/* test-sockets: sockets of AF_UNIX, with their ends on any kernels. What is between kernels is in
 * socket_remote.c, what only sockets under way hold in socket_circles.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/ipc/socket.h"

int socket_pair[2];

bool socket_make(int type)
{
    return CHECK(socketpair(AF_UNIX, type, 0, socket_pair) == 0, "%s", strerror(errno));
}

void socket_unmake(void)
{
    close(socket_pair[0]);
    close(socket_pair[1]);
}

/* The abstract name TEXT; returns its length. */
socklen_t socket_name(const char *text, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(name->sun_path + 1, text, strlen(text));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(text));
}

/* A socket of TYPE with that name, which listens unless it is one for datagrams. */
int socket_serve(int type, const char *text)
{
    struct sockaddr_un name;
    socklen_t size = socket_name(text, &name);
    int fd = socket(AF_UNIX, type, 0);

    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&name, size) == 0, "%s", strerror(errno));
    if ((type & 0xf) != SOCK_DGRAM)
        CHECK(listen(fd, 4) == 0, "%s", strerror(errno));
    return fd;
}

int socket_reach(int fd, const char *text)
{
    struct sockaddr_un name;
    socklen_t size = socket_name(text, &name);

    return connect(fd, (struct sockaddr *)&name, size);
}

static short state_of(int fd)
{
    struct pollfd state = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP};

    return poll(&state, 1, 0) >= 0 ? state.revents : -1;
}

static void test_stream(void)
{
    struct stat facts;
    char text[32] = "";
    int bytes = -1;

    if (!socket_make(SOCK_STREAM | SOCK_CLOEXEC))
        return;
    CHECK(fcntl(socket_pair[0], F_GETFD) == FD_CLOEXEC && fstat(socket_pair[0], &facts) == 0 && S_ISSOCK(facts.st_mode),
          "%o", facts.st_mode);
    CHECK(state_of(socket_pair[0]) == POLLOUT, "%#x", state_of(socket_pair[0]));
    CHECK(write(socket_pair[0], "ab", 2) == 2 && send(socket_pair[0], "cde", 3, 0) == 3, "%s", strerror(errno));
    CHECK(ioctl(socket_pair[1], FIONREAD, &bytes) == 0 && bytes == 5, "%d", bytes);
    CHECK(state_of(socket_pair[1]) == (POLLIN | POLLOUT), "%#x", state_of(socket_pair[1]));
    CHECK(recv(socket_pair[1], text, sizeof(text), MSG_PEEK) == 5 && recv(socket_pair[1], text, 3, 0) == 3 &&
              read(socket_pair[1], text + 3, 10) == 2 && strcmp(text, "abcde") == 0,
          "%s", text);
    CHECK_ERROR(recv(socket_pair[1], text, 1, MSG_DONTWAIT), EAGAIN);
    CHECK(write(socket_pair[1], "back", 4) == 4 && read(socket_pair[0], text, 4) == 4 && memcmp(text, "back", 4) == 0,
          "%s", text);
    CHECK_ERROR(lseek(socket_pair[0], 0, SEEK_CUR), ESPIPE);
    CHECK(write(socket_pair[0], "x", 1) == 1 && close(socket_pair[0]) == 0, "%s", strerror(errno));
    CHECK(state_of(socket_pair[1]) == (POLLIN | POLLOUT | POLLHUP | POLLRDHUP), "%#x", state_of(socket_pair[1]));
    CHECK(read(socket_pair[1], text, 10) == 1 && read(socket_pair[1], text, 10) == 0, "the rest, and the end");
    close(socket_pair[1]);
}

static volatile sig_atomic_t broken;

static void on_pipe(int number)
{
    (void)number;
    broken++;
}

static void test_broken(void)
{
    char byte;

    if (!socket_make(SOCK_STREAM))
        return;
    signal(SIGPIPE, on_pipe);
    broken = 0;
    CHECK(write(socket_pair[1], "lost", 4) == 4, "%s", strerror(errno));
    close(socket_pair[1]); /* with something in its peer's direction only */
    CHECK_ERROR(send(socket_pair[0], "x", 1, MSG_NOSIGNAL), EPIPE);
    CHECK(broken == 0, "no signal");
    CHECK_ERROR(send(socket_pair[0], "x", 1, 0), EPIPE);
    CHECK_ERROR(write(socket_pair[0], "x", 1), EPIPE);
    CHECK(broken == 2, "%d signals", (int)broken);
    close(socket_pair[0]);
    if (!socket_make(SOCK_STREAM))
        return;
    CHECK(write(socket_pair[0], "unread", 6) == 6 && close(socket_pair[1]) == 0, "%s", strerror(errno));
    CHECK_ERROR(read(socket_pair[0], &byte, 1), ECONNRESET);
    CHECK(read(socket_pair[0], &byte, 1) == 0, "then the end");
    close(socket_pair[0]);
    signal(SIGPIPE, SIG_DFL);
}

static void test_shutdown(void)
{
    char text[8];

    if (!socket_make(SOCK_STREAM))
        return;
    CHECK_ERROR(shutdown(socket_pair[0], 3), EINVAL);
    CHECK(write(socket_pair[0], "a", 1) == 1 && shutdown(socket_pair[0], SHUT_WR) == 0, "%s", strerror(errno));
    CHECK(state_of(socket_pair[1]) == (POLLIN | POLLOUT | POLLRDHUP), "%#x", state_of(socket_pair[1]));
    CHECK_ERROR(send(socket_pair[0], "x", 1, MSG_NOSIGNAL), EPIPE);
    CHECK(read(socket_pair[1], text, 8) == 1 && read(socket_pair[1], text, 8) == 0, "one direction has ended");
    CHECK(write(socket_pair[1], "b", 1) == 1 && read(socket_pair[0], text, 8) == 1 && text[0] == 'b',
          "the other has not");
    CHECK(shutdown(socket_pair[0], SHUT_RD) == 0 &&
              state_of(socket_pair[0]) == (POLLIN | POLLOUT | POLLHUP | POLLRDHUP),
          "%#x", state_of(socket_pair[0]));
    CHECK_ERROR(send(socket_pair[1], "x", 1, MSG_NOSIGNAL), EPIPE);
    socket_unmake();
}

static void test_messages(void)
{
    static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};
    static char big[300000];
    char text[16] = "";
    struct iovec parts[2] = {{text, 2}, {text + 4, 2}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    for (int i = 0; i < 2; i++) {
        if (!socket_make(types[i]))
            return;
        CHECK(send(socket_pair[0], "one", 3, 0) == 3 && write(socket_pair[0], "three", 5) == 5, "%s", strerror(errno));
        CHECK(send(socket_pair[0], "sixsix", 6, 0) == 6 && send(socket_pair[0], "", 0, 0) == 0, "%s", strerror(errno));
        CHECK(read(socket_pair[1], text, sizeof(text)) == 3 && memcmp(text, "one", 3) == 0, "one by one");
        CHECK(recv(socket_pair[1], text, 2, MSG_TRUNC) == 5 && memcmp(text, "th", 2) == 0, "the rest is cut off");
        CHECK(recvmsg(socket_pair[1], &message, 0) == 4 && (message.msg_flags & MSG_TRUNC) != 0 && text[5] == 's',
              "%#x", message.msg_flags);
        CHECK(recv(socket_pair[1], text, 2, 0) == 0, "one without bytes");
        CHECK_ERROR(recv(socket_pair[1], text, 2, MSG_DONTWAIT), EAGAIN);
        CHECK_ERROR(send(socket_pair[0], big, sizeof(big), 0), EMSGSIZE);
        socket_unmake();
    }
    if (!socket_make(SOCK_SEQPACKET))
        return;
    close(socket_pair[0]);
    CHECK(read(socket_pair[1], text, 4) == 0, "the end");
    CHECK_ERROR(send(socket_pair[1], text, 1, MSG_NOSIGNAL), EPIPE);
    close(socket_pair[1]);
}

static void test_full(void)
{
    static char block[65536];
    size_t sent = 0, received = 0;
    ssize_t count;

    if (!socket_make(SOCK_STREAM | SOCK_NONBLOCK))
        return;
    while ((count = write(socket_pair[0], block, sizeof(block))) > 0)
        sent += (size_t)count;
    CHECK(count == -1 && errno == EAGAIN && sent > 65536, "%zu bytes, %s", sent, strerror(errno));
    CHECK(state_of(socket_pair[0]) == 0, "%#x", state_of(socket_pair[0]));
    while ((count = read(socket_pair[1], block, sizeof(block))) > 0)
        received += (size_t)count;
    CHECK(received == sent && state_of(socket_pair[0]) == POLLOUT, "%zu of %zu", received, sent);
    socket_unmake();
}

static void test_names(void)
{
    struct sockaddr_un name;
    socklen_t size = sizeof(name);
    char text[8] = "";
    int server = socket_serve(SOCK_STREAM, "kettle-names"), client = socket(AF_UNIX, SOCK_STREAM, 0), other, end;

    CHECK(getsockname(server, (struct sockaddr *)&name, &size) == 0 && size == 15 &&
              memcmp(name.sun_path, "\0kettle-names", 13) == 0,
          "%u %s", size, name.sun_path + 1);
    CHECK(state_of(client) == (POLLOUT | POLLHUP), "%#x", state_of(client));
    CHECK(socket_reach(client, "kettle-names") == 0, "%s", strerror(errno));
    CHECK(write(client, "early", 5) == 5, "%s", strerror(errno));
    CHECK(state_of(server) == POLLIN, "%#x", state_of(server));
    size = sizeof(name);
    end = accept4(server, (struct sockaddr *)&name, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    CHECK(end >= 0 && size == 2, "%s %u", strerror(errno), size);
    CHECK(fcntl(end, F_GETFD) == FD_CLOEXEC && (fcntl(end, F_GETFL) & O_NONBLOCK) != 0, "flags");
    CHECK(read(end, text, 8) == 5 && memcmp(text, "early", 5) == 0, "%s", strerror(errno));
    size = sizeof(name);
    CHECK(getpeername(client, (struct sockaddr *)&name, &size) == 0 && size == 15, "%s", strerror(errno));
    size = sizeof(name);
    CHECK(getsockname(end, (struct sockaddr *)&name, &size) == 0 && size == 15, "%u", size);
    size = 4; /* too small: cut, and told */
    CHECK(getsockname(end, (struct sockaddr *)&name, &size) == 0 && size == 15, "%u", size);
    CHECK_ERROR(socket_reach(client, "kettle-names"), EISCONN);
    CHECK_ERROR(socket_reach(server, "kettle-names"), EINVAL);
    other = socket(AF_UNIX, SOCK_STREAM, 0);
    size = socket_name("kettle-names", &name);
    CHECK_ERROR(bind(other, (struct sockaddr *)&name, size), EADDRINUSE);
    CHECK_ERROR(socket_reach(other, "kettle-nobody"), ECONNREFUSED);
    CHECK_ERROR(bind(server, (struct sockaddr *)&name, size), EINVAL);
    CHECK(bind(other, (struct sockaddr *)&name, 2) == 0, "%s", strerror(errno)); /* any name */
    size = sizeof(name);
    CHECK(getsockname(other, (struct sockaddr *)&name, &size) == 0 && size == 8 && name.sun_path[0] == 0, "%u", size);
    close(other);
    other = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK_ERROR(socket_reach(other, "kettle-names"), ECONNREFUSED); /* each type has its own names */
    close(other);
    close(socket_serve(SOCK_DGRAM, "kettle-names"));
    close(client);
    close(server);
    CHECK(read(end, text, 1) == 0, "%s", strerror(errno));
    close(end);
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_ERROR(socket_reach(client, "kettle-names"), ECONNREFUSED);
    close(client);
}

/* Names in the tree of files. */
static void test_paths(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/tmp/test-sockets"}, other_name = name;
    int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0), end;
    int datagram = socket(AF_UNIX, SOCK_DGRAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
    const struct sockaddr *at = (struct sockaddr *)&name;
    socklen_t size = sizeof(name);
    struct stat facts;
    char byte = 0;

    strcat(other_name.sun_path, "-2");
    CHECK_ERROR(connect(client, at, size), ENOENT);
    CHECK_ERROR(bind(-1, at, size), EBADF);
    CHECK_ERROR(lstat(name.sun_path, &facts), ENOENT);
    CHECK(bind(server, at, size) == 0, "%s", strerror(errno));
    CHECK(lstat(name.sun_path, &facts) == 0 && S_ISSOCK(facts.st_mode), "%o", facts.st_mode);
    CHECK_ERROR(bind(second, at, size), EADDRINUSE);
    CHECK_ERROR(bind(server, (struct sockaddr *)&other_name, size), EINVAL);
    CHECK_ERROR(lstat(other_name.sun_path, &facts), ENOENT);
    CHECK_ERROR(open(name.sun_path, O_RDWR), ENXIO);
    CHECK_ERROR(connect(client, at, size), ECONNREFUSED); /* it does not listen yet */
    CHECK_ERROR(sendto(datagram, "x", 1, 0, at, size), EPROTOTYPE);
    CHECK(listen(server, 4) == 0 && connect(client, at, size) == 0, "%s", strerror(errno));
    end = accept(server, NULL, NULL);
    CHECK(end >= 0 && write(client, "p", 1) == 1 && read(end, &byte, 1) == 1 && byte == 'p', "%s", strerror(errno));
    size = sizeof(name);
    CHECK(getpeername(client, (struct sockaddr *)&name, &size) == 0 &&
              strcmp(name.sun_path, "/tmp/test-sockets") == 0 &&
              size == offsetof(struct sockaddr_un, sun_path) + strlen(name.sun_path) + 1,
          "%u %s", size, name.sun_path);
    /* a name goes where its file goes, and is refused once its socket is closed */
    CHECK(rename(name.sun_path, other_name.sun_path) == 0, "%s", strerror(errno));
    CHECK_ERROR(connect(second, at, sizeof(name)), ENOENT);
    CHECK(connect(second, (struct sockaddr *)&other_name, sizeof(name)) == 0, "%s", strerror(errno));
    close(server);
    close(second);
    second = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_ERROR(connect(second, (struct sockaddr *)&other_name, sizeof(name)), ECONNREFUSED);
    CHECK(unlink(other_name.sun_path) == 0, "%s", strerror(errno));
    close(second);
    close(datagram);
    close(client);
    close(end);
}

static void test_backlog(void)
{
    int server = socket_serve(SOCK_STREAM, "kettle-backlog"), clients[3], end;
    char byte;

    CHECK(listen(server, 0) == 0, "%s", strerror(errno)); /* one may wait */
    for (int i = 0; i < 3; i++)
        clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK(socket_reach(clients[0], "kettle-backlog") == 0, "%s", strerror(errno));
    CHECK_ERROR(socket_reach(clients[1], "kettle-backlog"), EAGAIN);
    end = accept(server, NULL, NULL);
    CHECK(end >= 0 && socket_reach(clients[1], "kettle-backlog") == 0, "%s", strerror(errno));
    close(server); /* with one that nobody has accepted */
    CHECK_ERROR(read(clients[1], &byte, 1), ECONNRESET);
    CHECK_ERROR(read(clients[0], &byte, 1), EAGAIN);
    CHECK_ERROR(socket_reach(clients[2], "kettle-backlog"), ECONNREFUSED);
    for (int i = 0; i < 3; i++)
        close(clients[i]);
    close(end);
}

static void test_datagrams(void)
{
    struct sockaddr_un name, from;
    socklen_t size = socket_name("kettle-box", &name), length = sizeof(from);
    int box = socket_serve(SOCK_DGRAM, "kettle-box"), sender = socket_serve(SOCK_DGRAM, "kettle-sender");
    int silent = socket(AF_UNIX, SOCK_DGRAM, 0);
    char text[16] = "";

    CHECK(sendto(sender, "hello", 5, 0, (struct sockaddr *)&name, size) == 5, "%s", strerror(errno));
    CHECK(recvfrom(box, text, 16, 0, (struct sockaddr *)&from, &length) == 5 && length == 16 &&
              memcmp(from.sun_path, "\0kettle-sender", 14) == 0,
          "%u %s", length, text);
    CHECK(sendto(silent, "x", 1, 0, (struct sockaddr *)&name, size) == 1, "%s", strerror(errno));
    length = sizeof(from);
    CHECK(recvfrom(box, text, 16, 0, (struct sockaddr *)&from, &length) == 1 && length == 0, "%u", length);
    CHECK_ERROR(send(silent, "x", 1, 0), ENOTCONN);
    CHECK(socket_reach(silent, "kettle-box") == 0 && send(silent, "y", 1, 0) == 1 && read(box, text, 16) == 1, "%s",
          strerror(errno));
    CHECK_ERROR(accept(box, NULL, NULL), EOPNOTSUPP);
    CHECK_ERROR(listen(box, 1), EOPNOTSUPP);
    for (int i = 0; i < 100; i++) {
        if (send(silent, "z", 1, MSG_DONTWAIT) != 1) {
            CHECK(errno == EAGAIN && i > 3, "after %d: %s", i, strerror(errno));
            break;
        }
    }
    close(box);
    CHECK_ERROR(send(silent, "x", 1, 0), ECONNREFUSED);
    CHECK_ERROR(sendto(sender, "x", 1, 0, (struct sockaddr *)&name, size), ECONNREFUSED);
    close(silent);
    close(sender);
}

static void test_refused(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), pipes[2];
    char byte = 0;

    CHECK_ERROR(socket(AF_INET, SOCK_STREAM | 0x100, 0), EINVAL);
    CHECK_ERROR(socket(99, SOCK_STREAM, 0), EAFNOSUPPORT);
    CHECK_ERROR(socket(AF_UNIX, SOCK_STREAM, 7), EPROTONOSUPPORT);
    CHECK_ERROR(socket(AF_UNIX, SOCK_RDM, 0), ESOCKTNOSUPPORT);
    CHECK_ERROR(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, TAP_UNMAPPED), EFAULT);
    CHECK_ERROR(send(fd, &byte, 1, MSG_NOSIGNAL), ENOTCONN);
    CHECK_ERROR(recv(fd, &byte, 1, 0), EINVAL);
    CHECK_ERROR(listen(fd, 1), EINVAL);
    CHECK_ERROR(accept(fd, NULL, NULL), EINVAL);
    CHECK_ERROR(getpeername(fd, (struct sockaddr *)&name, &(socklen_t){sizeof(name)}), ENOTCONN);
    CHECK_ERROR(connect(fd, (struct sockaddr *)&name, 2), EINVAL);
    CHECK_ERROR(connect(fd, (struct sockaddr *)&name, 200), EINVAL);
    name.sun_family = AF_INET;
    CHECK_ERROR(bind(fd, (struct sockaddr *)&name, sizeof(name)), EINVAL);
    CHECK_ERROR(bind(fd, TAP_UNMAPPED, sizeof(name)), EFAULT);
    CHECK(pipe(pipes) == 0, "%s", strerror(errno));
    CHECK_ERROR(listen(pipes[0], 1), ENOTSOCK);
    CHECK_ERROR(send(pipes[1], &byte, 1, 0), ENOTSOCK);
    CHECK_ERROR(send(-1, &byte, 1, 0), EBADF);
    close(pipes[0]);
    close(pipes[1]);
    close(fd);
}

static void test_options(void)
{
    struct timeval limit = {0, 50000};
    socklen_t size = sizeof(int);
    struct ucred peer;
    int value = -1, server = socket_serve(SOCK_STREAM, "kettle-options");
    char byte;

    if (!socket_make(SOCK_STREAM))
        return;
    CHECK(getsockopt(socket_pair[0], SOL_SOCKET, SO_TYPE, &value, &size) == 0 && value == SOCK_STREAM, "%d", value);
    CHECK(getsockopt(socket_pair[0], SOL_SOCKET, SO_DOMAIN, &value, &size) == 0 && value == AF_UNIX, "%d", value);
    CHECK(getsockopt(socket_pair[0], SOL_SOCKET, SO_ERROR, &value, &size) == 0 && value == 0, "%d", value);
    CHECK(getsockopt(socket_pair[0], SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value == 0, "%d", value);
    CHECK(getsockopt(server, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value == 1, "%d", value);
    value = 10000;
    CHECK(setsockopt(socket_pair[0], SOL_SOCKET, SO_SNDBUF, &value, sizeof(value)) == 0 &&
              getsockopt(socket_pair[0], SOL_SOCKET, SO_SNDBUF, &value, &size) == 0 && value == 20000,
          "%d", value);
    value = 1;
    CHECK(setsockopt(socket_pair[0], SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value)) == 0, "%s", strerror(errno));
    CHECK_ERROR(setsockopt(socket_pair[0], SOL_SOCKET, SO_TYPE, &value, sizeof(value)), ENOPROTOOPT);
    CHECK_ERROR(setsockopt(socket_pair[0], SOL_SOCKET, SO_PASSCRED, &value, 1), EINVAL);
    CHECK_ERROR(setsockopt(socket_pair[0], 6, 1, &value, sizeof(value)), EOPNOTSUPP);
    size = sizeof(peer);
    CHECK(getsockopt(socket_pair[0], SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == getpid() &&
              peer.uid == getuid(),
          "%d", peer.pid);
    CHECK(setsockopt(socket_pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0, "%s", strerror(errno));
    CHECK_ERROR(recv(socket_pair[0], &byte, 1, 0), EAGAIN);
    CHECK_ERROR(read(socket_pair[0], &byte, 1), EAGAIN);
    CHECK(setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0, "%s", strerror(errno));
    CHECK_ERROR(accept(server, NULL, NULL), EAGAIN);
    CHECK(setsockopt(socket_pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0, "%s", strerror(errno));
    for (errno = 0; write(socket_pair[0], &peer, sizeof(peer)) > 0;)
        continue;
    CHECK(errno == EAGAIN, "%s", strerror(errno));
    close(server);
    socket_unmake();
}

/* --- files and credentials --- */

/* Sends COUNT descriptors with one byte. */
ssize_t socket_send_files(int fd, const int *fds, size_t count)
{
    char control[CMSG_SPACE(8 * sizeof(int))];
    struct iovec part = {"f", 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    return sendmsg(fd, &message, 0);
}

/* Receives a byte and at most ROOM descriptors; returns how many came. */
int socket_receive_files(int fd, int *fds, size_t room, int *flags)
{
    char control[CMSG_SPACE(8 * sizeof(int))], byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_LEN(room * sizeof(int))};
    struct cmsghdr *head;
    size_t size;

    if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    *flags = message.msg_flags;
    head = CMSG_FIRSTHDR(&message);
    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return 0;
    size = head->cmsg_len - CMSG_LEN(0);
    memcpy(fds, CMSG_DATA(head), size);
    return (int)(size / sizeof(int));
}

static void test_rights(void)
{
    int pipes[2], got[8], flags = 0;
    char byte = 0;

    if (!socket_make(SOCK_STREAM) || !CHECK(pipe(pipes) == 0, "%s", strerror(errno)))
        return;
    CHECK(socket_send_files(socket_pair[0], pipes, 2) == 1, "%s", strerror(errno));
    close(pipes[0]);
    close(pipes[1]); /* both are open in the message only */
    CHECK(socket_receive_files(socket_pair[1], got, 8, &flags) == 2 && (flags & MSG_CTRUNC) == 0, "%#x", flags);
    CHECK(fcntl(got[0], F_GETFD) == FD_CLOEXEC, "%s", strerror(errno));
    CHECK(write(got[1], "p", 1) == 1 && read(got[0], &byte, 1) == 1 && byte == 'p', "%s", strerror(errno));
    CHECK(socket_send_files(socket_pair[0], got, 2) == 1 && socket_receive_files(socket_pair[1], pipes, 1, &flags) == 1,
          "%s", strerror(errno));
    CHECK((flags & MSG_CTRUNC) != 0, "one was left out: %#x", flags);
    close(pipes[0]);
    CHECK(socket_send_files(socket_pair[0], got + 1, 1) == 1, "%s", strerror(errno));
    close(got[1]);
    CHECK(write(socket_pair[0], "after", 5) == 5, "%s", strerror(errno));
    CHECK(read(socket_pair[1], &byte, 1) == 1, "read(2) takes no files");
    CHECK(read(got[0], &byte, 1) == 0, "so the last end is closed");
    got[1] = -1;
    CHECK_ERROR(socket_send_files(socket_pair[0], got + 1, 1), EBADF);
    CHECK(pipe(pipes) == 0 && socket_send_files(socket_pair[0], pipes + 1, 1) == 1 && close(pipes[1]) == 0, "%s",
          strerror(errno));
    socket_unmake(); /* what is on its way is closed with it */
    CHECK(read(pipes[0], &byte, 1) == 0, "%s", strerror(errno));
    close(pipes[0]);
    close(got[0]);
}

/* Receives up to SIZE bytes with FLAGS; returns how many came, and whether one descriptor did, which is closed. */
static ssize_t receive_with_file(char *bytes, size_t size, int flags, bool *with)
{
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {bytes, size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    ssize_t count = recvmsg(socket_pair[1], &message, flags);
    struct cmsghdr *head = count >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int fd = -1;

    if (head != NULL)
        memcpy(&fd, CMSG_DATA(head), sizeof(fd));
    *with = fd >= 0 && close(fd) == 0;
    return count;
}

/* unix(7): descriptors end what is received at once, and come with what was sent before. */
static void test_rights_behind(void)
{
    static char bytes[100000];
    bool with;

    if (!socket_make(SOCK_STREAM))
        return;
    for (int flags = 0; flags <= MSG_WAITALL; flags += MSG_WAITALL) {
        CHECK(write(socket_pair[0], "four", 4) == 4 && socket_send_files(socket_pair[0], socket_pair, 1) == 1 &&
                  write(socket_pair[0], "rest", 4) == 4,
              "%s", strerror(errno));
        CHECK(receive_with_file(bytes, 20, MSG_PEEK, &with) == 5, "peeked at");
        CHECK(receive_with_file(bytes, 20, flags, &with) == 5 && with, "the byte that has the file ends it");
        CHECK(receive_with_file(bytes, 4, flags, &with) == 4 && !with, "what is behind comes without");
    }
    /* More than one operation moves. */
    CHECK(write(socket_pair[0], bytes, sizeof(bytes) - 1) == (ssize_t)sizeof(bytes) - 1 &&
              socket_send_files(socket_pair[0], socket_pair, 1) == 1,
          "%s", strerror(errno));
    CHECK(receive_with_file(bytes, sizeof(bytes), MSG_WAITALL, &with) == (ssize_t)sizeof(bytes) && with, "%s",
          strerror(errno));
    socket_unmake();
}

static void test_credentials(void)
{
    char control[CMSG_SPACE(sizeof(struct ucred))], byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *head;
    struct ucred from = {0};
    int one = 1, status;
    pid_t child;

    if (!socket_make(SOCK_DGRAM))
        return;
    CHECK(setsockopt(socket_pair[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) == 0, "%s", strerror(errno));
    child = fork();
    if (child == 0)
        _exit(send(socket_pair[0], "c", 1, 0) == 1 ? 0 : 1);
    CHECK(recvmsg(socket_pair[1], &message, 0) == 1, "%s", strerror(errno));
    head = CMSG_FIRSTHDR(&message);
    if (CHECK(head != NULL && head->cmsg_type == SCM_CREDENTIALS && head->cmsg_len == CMSG_LEN(sizeof(from)), "none"))
        memcpy(&from, CMSG_DATA(head), sizeof(from));
    CHECK(from.pid == child && from.uid == getuid() && from.gid == getgid(), "%d, not %d", from.pid, child);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    socket_unmake();
}

static void test_many(void)
{
    char bytes[4][8] = {"a", "bb", "ccc", "dddd"};
    struct mmsghdr messages[4];
    struct iovec parts[4];
    int count;

    if (!socket_make(SOCK_DGRAM))
        return;
    memset(messages, 0, sizeof(messages));
    for (int i = 0; i < 4; i++) {
        parts[i] = (struct iovec){bytes[i], (size_t)i + 1};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    count = sendmmsg(socket_pair[0], messages, 4, 0);
    CHECK(count == 4 && messages[2].msg_len == 3, "%d: %s", count, strerror(errno));
    for (int i = 0; i < 4; i++)
        parts[i].iov_len = 8;
    count = recvmmsg(socket_pair[1], messages, 3, MSG_WAITFORONE, NULL);
    CHECK(count == 3 && messages[1].msg_len == 2, "%d: %s", count, strerror(errno));
    count = recvmmsg(socket_pair[1], messages, 3, MSG_WAITFORONE, NULL);
    CHECK(count == 1 && messages[0].msg_len == 4, "%d: %s", count, strerror(errno));
    socket_unmake();
}

static const struct tap_test tests[] = {
    {"stream", "a stream carries bytes both ways, to its end", test_stream},
    {"broken", "a stream whose peer has gone is broken", test_broken},
    {"shutdown", "each direction can be shut down", test_shutdown},
    {"messages", "datagrams and packets keep their bounds", test_messages},
    {"full", "a full socket is EAGAIN, and goes on", test_full},
    {"names", "a name is found, and each side knows the other's", test_names},
    {"paths", "a name may be a file's", test_paths},
    {"backlog", "a backlog has room for so many, and ends with its listener", test_backlog},
    {"datagrams", "datagrams go to names and tell their sender's", test_datagrams},
    {"refused", "what cannot be is refused as Linux does", test_refused},
    {"options", "options say and change what the socket is", test_options},
    {"rights", "descriptors go with a message, and are closed with it", test_rights},
    {"rights-behind", "descriptors come with the bytes of a stream before them, and end them", test_rights_behind},
    {"credentials", "credentials say who has sent a message", test_credentials},
    {"many", "several messages go with one call", test_many},
    {"circles", "sockets that only sockets under way hold are closed", socket_test_circles},
    {"crowds", "so they are where many are under way, and others can be received meanwhile", socket_test_crowds},
    {"stream-remote", "a stream between threads on any kernels loses nothing", socket_test_stream_remote},
    {"connections", "a child at home on another kernel connects to a server on a third", socket_test_connections},
    {"moved", "who waits for a message may be moved", socket_test_moved},
    {"full-box", "who sends to a full box waits until there is room", socket_test_full_box},
    {"rights-remote", "descriptors go to a child at home on another kernel, and back", socket_test_rights_remote},
    {"said-remote", "root sends as any process that there is, on whichever kernel", socket_test_said_remote},
    {"written-remote", "what is written without a message says who wrote it", socket_test_written_remote},
    {"written-much", "a long write says who wrote it, in each part", socket_test_written_much},
    {"senders-apart", "bytes of different senders do not come with one call", socket_test_senders_apart},
    {"broken-later", "a write to a socket that breaks on the way says how much has gone", socket_test_broken_later},
    {"broken-user", "SIGPIPE says who has written", socket_test_broken_user},
    {"open-files", "nothing is left open", open_files_test},
};

int main(int argc, char **argv)
{
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
