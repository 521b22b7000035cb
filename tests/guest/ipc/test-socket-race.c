/* test-socket-race: threads that close a socket while others use it. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define ROUNDS 400

static const struct sockaddr_un name = {AF_UNIX, "\0test-socket-race"};
static int client;
static atomic_int begun, ended;

/* Connects once in each round, whatever comes of it. */
static void connect_often(struct thread *thread)
{
    for (int i = 1; i <= ROUNDS && thread_wait(&begun, i); i++) {
        x86_syscall3(SYS_connect, client, (long)&name, sizeof(name));
        ended = i;
    }
    thread->result = begun == ROUNDS ? 0 : -1;
}

/* A connection whose other end has been closed, before or after it was made, is one that has ended. */
static void test_connect_and_close(void)
{
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), made = 0;
    struct thread other = {.index = 0};
    uint64_t random = 5;
    char byte;

    begun = ended = 0;
    if (!CHECK(bind(listener, (const struct sockaddr *)&name, sizeof(name)) == 0 && listen(listener, 5) == 0 &&
                   thread_start(&other, connect_often),
               "%s", strerror(errno)))
        return;
    for (int i = 1; i <= ROUNDS; i++) {
        int end;

        client = socket(AF_UNIX, SOCK_STREAM, 0);
        begun = i;
        for (uint64_t turns = tap_random(&random) % 300; turns > 0 && ended < i; turns--)
            x86_pause();
        close(client);
        if (!CHECK(thread_wait(&ended, i), "round %d", i))
            break;
        end = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        if (end < 0)
            continue;
        made++;
        if (!CHECK(read(end, &byte, 1) == 0, "round %d: %s", i, strerror(errno)))
            break;
        close(end);
    }
    begun = ROUNDS;
    CHECK(thread_join(&other), "the thread ends");
    tap_note("%d connections in %d rounds", made, ROUNDS);
    close(listener);
}

/* --- a descriptor that becomes another socket while a message with files is sent on it --- */

static int pair[2], stream[2], changing;

/* The descriptor is a datagram socket and a stream socket by turns. */
static void change_often(struct thread *thread)
{
    while (begun == 0) {
        x86_syscall3(SYS_dup2, stream[0], changing, 0);
        x86_syscall3(SYS_dup2, pair[0], changing, 0);
        x86_pause();
    }
    thread->result = 0;
}

/* Sends no bytes and file FD on the changing descriptor. */
static long send_file(int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(fd))];
    } control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(fd))}};
    struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof(control)};

    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    return sendmsg(changing, &message, MSG_DONTWAIT);
}

/* Receives a file from the datagram socket; -1: there is none. */
static int receive_file(void)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof(control)};
    int fd = -1;

    if (recvmsg(pair[1], &message, MSG_DONTWAIT) == 0 && message.msg_controllen >= CMSG_LEN(sizeof(fd)))
        memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
    return fd;
}

/* A datagram takes a file along without any bytes, and a stream does not: whatever the descriptor was at which moment,
 * the file is either under way, and can be used by who gets it, or closed. */
static void test_send_and_change(void)
{
    struct thread other = {.index = 0};
    int got = 0;

    begun = 0;
    MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, stream));
    changing = dup(pair[0]);
    if (!CHECK(thread_start(&other, change_often), "%s", strerror(errno)))
        return;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t count = 0;
        int file = eventfd(7, 0), end;

        send_file(file);
        close(file);
        end = receive_file();
        if (end < 0)
            continue;
        got++;
        if (!CHECK(read(end, &count, sizeof(count)) == sizeof(count) && count == 7, "round %d: %s", i, strerror(errno)))
            break;
        close(end);
    }
    begun = 1;
    CHECK(thread_join(&other), "the thread ends");
    CHECK(got > 0, "no file came");
    tap_note("%d files in %d rounds", got, ROUNDS);
    close(changing);
    for (int i = 0; i < 2; i++) {
        close(pair[i]);
        close(stream[i]);
    }
}

static const struct tap_test tests[] = {
    {"connect-and-close", "a socket that is closed while it connects has no connection", test_connect_and_close},
    {"send-and-change", "a file sent on a descriptor that changes is under way or closed", test_send_and_change},
    {"open-files", "nothing is left open", open_files_test},
};

int main(int argc, char **argv)
{
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
