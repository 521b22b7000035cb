/* test-sockets: sockets whose ends, and those who wait at them, are on several kernels. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/ipc/socket.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define STREAM (700 * 1024)
#define ROUNDS 200

static atomic_int ready;

struct job {
    int kernel, fd;
};

static char byte_at(size_t at)
{
    return (char)(at * 7 + at / 251);
}

static void stream_write(struct thread *thread)
{
    const struct job *job = thread->argument;
    static char bytes[100000];
    long result = thread_move(job->kernel);

    for (size_t at = 0; at < STREAM && result == 0;) {
        size_t size = STREAM - at < sizeof(bytes) ? STREAM - at : sizeof(bytes);

        for (size_t i = 0; i < size; i++)
            bytes[i] = byte_at(at + i);
        for (size_t done = 0; done < size && result == 0;) {
            long count = x86_syscall(SYS_sendto, job->fd, (long)bytes + (long)done, (long)(size - done), 0, 0, 0);

            if (count <= 0)
                result = count < 0 ? count : -1;
            else
                done += (size_t)count;
        }
        at += size;
    }
    x86_syscall3(SYS_shutdown, job->fd, SHUT_WR, 0);
    thread->result = result;
}

void socket_test_stream_remote(void)
{
    static char bytes[30000];
    int kernels[64];
    int count = tap_kernels(kernels), home = thread_kernel();

    for (int k = 0; k < count && k < 4; k++) {
        struct job job = {.kernel = kernels[count - 1 - k]};
        struct thread writer = {.argument = &job};
        size_t done = 0, wrong = 0;
        ssize_t some;

        if (!socket_make(SOCK_STREAM))
            return;
        job.fd = socket_pair[0];
        CHECK(thread_start(&writer, stream_write), "%s", strerror(errno));
        CHECK(thread_move(kernels[k]) == 0, "moved");
        while ((some = recv(socket_pair[1], bytes, sizeof(bytes), k % 2 == 0 ? MSG_WAITALL : 0)) > 0) {
            for (ssize_t i = 0; i < some; i++)
                wrong += bytes[i] != byte_at(done + (size_t)i);
            done += (size_t)some;
        }
        CHECK(thread_join(&writer) && writer.result == 0, "%ld", atomic_load(&writer.result));
        CHECK(some == 0 && done == STREAM && wrong == 0, "%zu bytes, %zu wrong", done, wrong);
        CHECK(thread_move(home) == 0, "back");
        socket_unmake();
    }
}

/* Serves ROUNDS connections: answers each with what it says. */
static void serve_some(struct thread *thread)
{
    const struct job *job = thread->argument;
    long result = thread_move(job->kernel);

    for (int i = 0; i < ROUNDS && result == 0; i++) {
        long end = x86_syscall3(SYS_accept, job->fd, 0, 0), count;
        char text[16];

        if (end < 0) {
            result = end;
            break;
        }
        count = x86_syscall3(SYS_read, end, (long)text, sizeof(text));
        if (count <= 0 || x86_syscall3(SYS_write, end, (long)text, count) != count)
            result = -1000;
        x86_syscall1(SYS_close, end);
    }
    thread->result = result;
}

static int ask_some(const char *name, int seed)
{
    for (int i = 0; i < ROUNDS; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        char text[16], back[16] = "";

        if (fd < 0 || socket_reach(fd, name) != 0)
            return 1;
        snprintf(text, sizeof(text), "%d.%d", seed, i);
        if (write(fd, text, strlen(text)) != (ssize_t)strlen(text) || read(fd, back, sizeof(back)) <= 0 ||
            strncmp(text, back, strlen(text)) != 0)
            return 2;
        if (read(fd, back, 1) != 0)
            return 3;
        close(fd);
    }
    return 0;
}

void socket_test_connections(void)
{
    int kernels[64], status = -1;
    int count = tap_kernels(kernels), home = thread_kernel(), server = socket_serve(SOCK_STREAM, "kettle-remote");
    struct job job = {.kernel = kernels[count / 2], .fd = server};
    struct thread thread = {.argument = &job};
    pid_t child;

    CHECK(thread_start(&thread, serve_some), "%s", strerror(errno));
    CHECK(thread_move(kernels[count - 1]) == 0, "moved");
    child = fork(); /* at home here */
    if (child == 0)
        _exit(ask_some("kettle-remote", 7));
    CHECK(thread_move(home) == 0, "back");
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    CHECK(thread_join(&thread) && thread.result == 0, "%ld", atomic_load(&thread.result));
    close(server);
}

/* Sends datagrams to a name whose queue is full again and again. */
static void send_to_box(struct thread *thread)
{
    const struct job *job = thread->argument;
    long result = thread_move(job->kernel);
    struct sockaddr_un name;
    socklen_t size = socket_name("kettle-full-box", &name);

    for (int i = 0; i < ROUNDS && result == 0; i++) {
        if (x86_syscall(SYS_sendto, job->fd, (long)&i, sizeof(i), 0, (long)&name, size) != sizeof(i))
            result = i + 1;
    }
    thread->result = result;
}

void socket_test_full_box(void)
{
    int box = socket_serve(SOCK_DGRAM, "kettle-full-box"), sender = socket(AF_UNIX, SOCK_DGRAM, 0), wrong = 0;
    int kernels[64];
    int count = tap_kernels(kernels);
    struct job job = {.kernel = kernels[count - 1], .fd = sender};
    struct thread thread = {.argument = &job};

    CHECK(thread_start(&thread, send_to_box), "%s", strerror(errno));
    for (int i = 0; i < ROUNDS; i++) {
        int got = -1;

        if (i % 32 == 0)
            UNTIL(thread.tid == 0 || tap_sleeps(0, thread.tid_first), "the sender to wait for room, or to end");
        wrong += recv(box, &got, sizeof(got), 0) != sizeof(got) || got != i;
    }
    CHECK(thread_join(&thread) && thread.result == 0 && wrong == 0, "%d wrong, %ld", wrong,
          atomic_load(&thread.result));
    close(box);
    close(sender);
}

static void receive_one(struct thread *thread)
{
    char byte;

    ready = 1;
    thread->result = x86_syscall(SYS_recvfrom, socket_pair[1], (long)&byte, 1, 0, 0, 0);
}

void socket_test_moved(void)
{
    struct thread waiter = {.index = 0};

    if (!socket_make(SOCK_STREAM))
        return;
    ready = 0;
    CHECK(thread_start(&waiter, receive_one) && thread_wait(&ready, 1), "%s", strerror(errno));
    for (int i = 0; i < 3 * place_count(); i++) {
        CHECK(place_push(waiter.tid, i) == 0, "push %d", i);
        UNTIL(place_reached(waiter.tid_first, i), "the thread that waits to reach its place");
    }
    CHECK(write(socket_pair[0], "m", 1) == 1, "%s", strerror(errno));
    CHECK(thread_join(&waiter) && waiter.result == 1, "%ld", atomic_load(&waiter.result));
    socket_unmake();
}

/* A child at home elsewhere is given the ends of two pipes, adds one to each byte of the first, and gives one of its
 * own back. */
static int work_for_files(int fd)
{
    int got[8], flags, own[2];
    char byte;

    if (socket_receive_files(fd, got, 8, &flags) != 2)
        return 1;
    while (read(got[0], &byte, 1) == 1) {
        byte++;
        if (write(got[1], &byte, 1) != 1)
            return 2;
    }
    if (pipe(own) != 0 || socket_send_files(fd, own, 1) != 1 || write(own[1], "own", 3) != 3)
        return 3;
    return 0;
}

void socket_test_rights_remote(void)
{
    int kernels[64], there[2], back[2], got[8], ends[2], flags, status = -1;
    int count = tap_kernels(kernels), home = thread_kernel();
    char text[8] = "";
    pid_t child;

    if (!socket_make(SOCK_STREAM))
        return;
    CHECK(thread_move(kernels[count - 1]) == 0, "moved");
    child = fork();
    if (child == 0) {
        close(socket_pair[0]);
        _exit(work_for_files(socket_pair[1]));
    }
    CHECK(thread_move(home) == 0, "back");
    CHECK(pipe(there) == 0 && pipe(back) == 0, "%s", strerror(errno));
    ends[0] = there[0];
    ends[1] = back[1];
    CHECK(socket_send_files(socket_pair[0], ends, 2) == 1, "%s", strerror(errno));
    close(there[0]);
    close(back[1]);
    for (int i = 0; i < 20; i++) {
        char byte = (char)i;

        CHECK(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1 && byte == i + 1, "%d", byte);
    }
    close(there[1]);
    CHECK(socket_receive_files(socket_pair[0], got, 8, &flags) == 1, "%s", strerror(errno));
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    CHECK(read(got[0], text, 8) == 3 && strcmp(text, "own") == 0, "%s", text);
    CHECK(read(got[0], text, 8) == 0 && read(back[0], text, 8) == 0, "the child's ends are closed");
    close(got[0]);
    close(back[0]);
    socket_unmake();
}

/* As sendmsg of one byte, from process ID. */
static ssize_t say_as(pid_t id)
{
    char control[CMSG_SPACE(sizeof(struct ucred))] = {0}, byte = 's';
    const struct ucred said = {id, 5, 6};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_CREDENTIALS;
    head->cmsg_len = CMSG_LEN(sizeof(said));
    memcpy(CMSG_DATA(head), &said, sizeof(said));
    return sendmsg(socket_pair[0], &message, 0);
}

static bool hear_from(pid_t id)
{
    char control[CMSG_SPACE(sizeof(struct ucred))] = {0}, byte;
    struct ucred said = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};

    if (recvmsg(socket_pair[1], &message, MSG_DONTWAIT) != 1 || CMSG_FIRSTHDR(&message) == NULL)
        return false;
    memcpy(&said, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(said));
    return said.pid == id && said.uid == 5 && said.gid == 6;
}

void socket_test_said_remote(void)
{
    int kernels[64], one = 1, ends[2] = {-1, -1};
    int count = tap_kernels(kernels), home = thread_kernel();

    if (!socket_make(SOCK_STREAM) || !CHECK(pipe(ends) == 0, "%s", strerror(errno)))
        return;
    CHECK(setsockopt(socket_pair[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) == 0, "%s", strerror(errno));
    for (int i = 0; i < count; i++) {
        char byte;
        pid_t child;

        CHECK(thread_move(kernels[i]) == 0, "moved");
        child = fork();
        if (child == 0) {
            close(ends[1]);
            _exit((int)read(ends[0], &byte, 1));
        }
        CHECK(thread_move(kernels[(i + 1) % count]) == 0, "moved");
        CHECK(say_as(child) == 1 && hear_from(child), "from %d: %s", child, strerror(errno));
        CHECK(write(ends[1], "", 1) == 1 && waitpid(child, NULL, 0) == child, "%s", strerror(errno));
        CHECK_ERROR(say_as(child), ESRCH);
    }
    CHECK(thread_move(home) == 0, "back");
    close(ends[0]);
    close(ends[1]);
    socket_unmake();
}
