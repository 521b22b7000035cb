/* test-stop-sets: files that a set watches, or that are on their way in a socket, while their kernel stops. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"

static ssize_t send_file(int to, int fd)
{
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {"f", 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    return sendmsg(to, &message, 0);
}

static int receive_file(int from)
{
    char control[CMSG_SPACE(sizeof(int))], byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    int fd = -1;

    if (recvmsg(from, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != NULL)
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    return fd;
}

/* At home on the kernel that stops: sends the reader of a pipe of its own twice, and writes to it when it is told. */
static int send_own(int fd)
{
    int ends[2];
    char byte;

    if (pipe(ends) != 0 || send_file(fd, ends[0]) != 1 || send_file(fd, ends[0]) != 1)
        return 1;
    close(ends[0]);
    if (read(fd, &byte, 1) != 1)
        return 2;
    return write(ends[1], "end", 3) == 3 ? 0 : 3;
}

static void test_stop(void)
{
    int kernels[64], pair[2], set, remote, late, status = -1;
    int count = tap_kernels(kernels), home = thread_kernel();
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 5};
    char text[8] = "";
    pid_t child;

    if (tap_skip_alone())
        return;
    set = epoll_create1(0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "%s", strerror(errno));
    CHECK(thread_move(kernels[count - 1]) == 0, "moved");
    child = fork();
    if (child == 0) {
        close(set);
        close(pair[0]);
        _exit(send_own(pair[1]));
    }
    CHECK(thread_move(home) == 0, "back");
    close(pair[1]);
    remote = receive_file(pair[0]);
    CHECK(remote >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, remote, &event) == 0, "%s", strerror(errno));
    /* The pipe, and the child's home, go from kernel to kernel, until they are where the set is. */
    for (int i = count - 1; i > 0; i--)
        CHECK(kettle_stop(kernels[i]) == 0, "stop of kernel %d: %s", kernels[i], strerror(errno));
    CHECK(epoll_wait(set, &event, 1, 0) == 0, "nothing is ready");
    late = receive_file(pair[0]);
    CHECK(late >= 0 && write(pair[0], "g", 1) == 1, "%s", strerror(errno));
    event.data.u64 = 0;
    CHECK(epoll_wait(set, &event, 1, 60000) == 1 && event.data.u64 == 5, "%#x", event.events);
    CHECK(read(late, text, 3) == 3 && strcmp(text, "end") == 0, "%s", text);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    CHECK(read(remote, text, 1) == 0, "%s", strerror(errno));
    for (int i = 1; i < count; i++)
        CHECK(kettle_start(kernels[i]) == 0, "start of kernel %d: %s", kernels[i], strerror(errno));
    close(remote);
    close(late);
    close(set);
    close(pair[0]);
}

static const struct tap_test tests[] = {
    {"stop", "a watched pipe on its way in a message survives the stop of its kernel", test_stop},
    {"open-files", "nothing is left open", open_files_test},
};

int main(int argc, char **argv)
{
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
