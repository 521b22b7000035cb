/* Who has sent what, of test-sockets: SO_PASSCRED on streams and on what is written without a message. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/ipc/socket.h"
#include "userland/thread.h"

#define BIG 1000000u /* bytes, more than a socket takes */

static char bytes[BIG];

/* Receives up to SIZE bytes, and who has sent them; FROM all zeros: not told. */
static ssize_t hear(int fd, void *to, size_t size, int flags, struct ucred *from)
{
    char control[CMSG_SPACE(sizeof(*from))];
    struct iovec part = {to, size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    ssize_t count = recvmsg(fd, &message, flags);

    *from = (struct ucred){0};
    if (count >= 0 && CMSG_FIRSTHDR(&message) != NULL)
        memcpy(from, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(*from));
    return count;
}

static bool asks(int fd)
{
    int one = 1;

    return CHECK(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) == 0, "%s", strerror(errno));
}

/* One way to write a byte to the socket FD. */
static int write_byte(int fd, int way)
{
    int ends[2], file;

    switch (way) {
    case 0:
        return write(fd, "w", 1) == 1 ? 0 : 1;
    case 1:
        if (pipe(ends) != 0 || write(ends[1], "w", 1) != 1)
            return 2;
        return splice(ends[0], NULL, fd, NULL, 1, 0) == 1 ? 0 : 3;
    default:
        file = memfd_create("socket-user", 0);
        if (file < 0 || pwrite(file, "w", 1, 0) != 1)
            return 4;
        return sendfile(fd, file, NULL, 1) == 1 ? 0 : 5;
    }
}

void socket_test_written_remote(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    int kernels[64];
    int count = tap_kernels(kernels), home = thread_kernel();

    for (int i = 0; i < 3 * count; i++) {
        if (!socket_make(types[i % 3]) || !asks(socket_pair[1]))
            return;
        for (int way = 0; way < 3; way++) {
            struct ucred from;
            pid_t child;
            char byte;
            int status;

            CHECK(thread_move(kernels[i / 3]) == 0, "moved");
            child = fork();
            if (child == 0)
                _exit(setgid(6) == 0 && setuid(5) == 0 ? write_byte(socket_pair[0], way) : 9);
            CHECK(thread_move(home) == 0, "back");
            CHECK(waitpid(child, &status, 0) == child && status == 0, "way %d: %#x", way, status);
            CHECK(hear(socket_pair[1], &byte, 1, MSG_DONTWAIT, &from) == 1 && byte == 'w', "%s", strerror(errno));
            CHECK(from.pid == child && from.uid == 5 && from.gid == 6, "way %d: %d %u %u, not %d", way, from.pid,
                  from.uid, from.gid, child);
        }
        socket_unmake();
    }
}

void socket_test_written_much(void)
{
    struct ucred from;
    size_t done = 0;
    int status;
    pid_t child;

    if (!socket_make(SOCK_STREAM) || !asks(socket_pair[1]))
        return;
    child = fork();
    if (child == 0) {
        close(socket_pair[1]);
        for (size_t i = 0; i < BIG; i++)
            bytes[i] = (char)(i * 7 >> 3);
        _exit(write(socket_pair[0], bytes, BIG) == BIG ? 0 : 1);
    }
    while (done < BIG) {
        ssize_t count = hear(socket_pair[1], bytes + done, BIG - done, 0, &from);

        if (!CHECK(count > 0 && from.pid == child, "%ld of %d", (long)count, from.pid))
            break;
        done += (size_t)count;
    }
    for (size_t i = 0; i < done; i++) {
        if (!CHECK(bytes[i] == (char)(i * 7 >> 3), "at %zu", i))
            break;
    }
    socket_unmake();
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
}

void socket_test_senders_apart(void)
{
    struct ucred from;
    ssize_t count;
    pid_t child;
    int status;

    if (!socket_make(SOCK_STREAM) || !asks(socket_pair[1]))
        return;
    CHECK(send(socket_pair[0], "abc", 3, 0) == 3, "%s", strerror(errno));
    child = fork();
    if (child == 0)
        _exit(send(socket_pair[0], "de", 2, 0) == 2 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    CHECK(send(socket_pair[0], "f", 1, 0) == 1, "%s", strerror(errno));
    count = hear(socket_pair[1], bytes, 5, MSG_WAITALL | MSG_DONTWAIT, &from);
    CHECK(count == 3 && memcmp(bytes, "abc", 3) == 0 && from.pid == getpid(), "%ld of %d", (long)count, from.pid);
    count = hear(socket_pair[1], bytes, 3, MSG_WAITALL | MSG_DONTWAIT, &from);
    CHECK(count == 2 && memcmp(bytes, "de", 2) == 0 && from.pid == child, "%ld of %d", (long)count, from.pid);
    CHECK(send(socket_pair[0], "gh", 2, 0) == 2, "%s", strerror(errno));
    count = hear(socket_pair[1], bytes, 3, MSG_WAITALL | MSG_DONTWAIT, &from);
    CHECK(count == 3 && memcmp(bytes, "fgh", 3) == 0 && from.pid == getpid(), "%ld of %d", (long)count, from.pid);
    socket_unmake();
}

static volatile sig_atomic_t broken;

static void note_broken(int signal)
{
    (void)signal;
    broken++;
}

void socket_test_broken_later(void)
{
    ssize_t count;
    pid_t child;
    int status;

    if (!socket_make(SOCK_STREAM))
        return;
    signal(SIGPIPE, note_broken);
    broken = 0;
    child = fork();
    if (child == 0) {
        close(socket_pair[0]);
        _exit(recv(socket_pair[1], bytes, 5000, MSG_WAITALL) == 5000 ? 0 : 1);
    }
    close(socket_pair[1]);
    count = write(socket_pair[0], bytes, BIG);
    CHECK(count >= 5000 && count < BIG && broken == 0, "%ld, %d signals", (long)count, (int)broken);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    CHECK(recv(socket_pair[0], bytes, 1, 0) <= 0, "bytes"); /* takes the error that an end with unread bytes leaves */
    CHECK_ERROR(write(socket_pair[0], bytes, 1), EPIPE);
    CHECK(broken == 1, "%d signals", (int)broken);
    signal(SIGPIPE, SIG_DFL);
    close(socket_pair[0]);
}

static volatile sig_atomic_t broken_by, broken_user;

static void note_user(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    broken_by = info->si_pid;
    broken_user = (sig_atomic_t)info->si_uid;
}

void socket_test_broken_user(void)
{
    struct sigaction action = {.sa_sigaction = note_user, .sa_flags = SA_SIGINFO};
    pid_t child;
    int status;

    if (!socket_make(SOCK_STREAM))
        return;
    child = fork();
    if (child == 0) {
        close(socket_pair[1]);
        if (setuid(5) != 0 || sigaction(SIGPIPE, &action, NULL) != 0 || read(socket_pair[0], bytes, 1) != 0)
            _exit(1);
        if (write(socket_pair[0], bytes, 1) >= 0)
            _exit(2);
        _exit(broken_by != getpid() ? 3 : broken_user != 5 ? 4 : 0);
    }
    socket_unmake();
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
}
