/* Datagrams of up to SO_SNDBUF less 32 bytes: whole, cut, looked at, with files, read by every call, between CPUs. */
#include "abi.h"

#define LONG (212992 - 32)
static unsigned char data[1 << 20] __attribute__((aligned(4096))), back[1 << 20] __attribute__((aligned(4096)));

static void fill(unsigned seed)
{
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 7 + (i >> 8) + seed);
}
static const char *same(long size)
{
    return size > 0 && memcmp(data, back, (size_t)size) == 0 ? "the same" : "other bytes";
}
static void check(const char *what, long size)
{
    printf("%s: %s, %s\n", what, size < 0 ? errno_name(errno) : "received", same(size));
    SHOW(size);
    memset(back, 0, sizeof(back));
}
static long message(int end, long room, int flags, int *file, int *out)
{
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec parts[2] = {{back, 1000}, {back + 1000, (size_t)room - 1000}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
    long size;

    if (file != NULL) {
        header.msg_control = control;
        header.msg_controllen = sizeof(control);
    }
    size = recvmsg(end, &header, flags);
    *out = header.msg_flags;
    if (file != NULL && size >= 0)
        *file = CMSG_FIRSTHDR(&header) != NULL ? *(int *)(void *)CMSG_DATA(CMSG_FIRSTHDR(&header)) : -1;
    return size;
}
static long pass(int end, int file, size_t size)
{
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {data, size};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};

    CMSG_FIRSTHDR(&header)->cmsg_level = SOL_SOCKET;
    CMSG_FIRSTHDR(&header)->cmsg_type = SCM_RIGHTS;
    CMSG_FIRSTHDR(&header)->cmsg_len = CMSG_LEN(sizeof(int));
    *(int *)(void *)CMSG_DATA(CMSG_FIRSTHDR(&header)) = file;
    return sendmsg(end, &header, 0);
}
static void all(int type)
{
    int ends[2], flags = 0, file = -1, pipes[2];
    struct iovec parts[2] = {{data, 100000}, {data + 100000, 50000}};
    char byte = 0;

    MUST(socketpair(AF_UNIX, type, 0, ends));
    for (long size = 61439; size <= 61442; size++) {
        fill((unsigned)size);
        CALL(send(ends[0], data, (size_t)size, 0));
        check("short of 64 KiB", recv(ends[1], back, sizeof(back), 0));
    }
    CALL(send(ends[0], data, LONG, 0));
    CALL(send(ends[0], data, LONG + 1, 0));
    CALL(send(ends[0], data, 40000, MSG_DONTWAIT));
    check("peek", recv(ends[1], back, sizeof(back), MSG_PEEK));
    check("peek, cut", message(ends[1], 150000, MSG_PEEK, NULL, &flags));
    SHOW((flags & MSG_TRUNC) != 0);
    check("all", message(ends[1], LONG, 0, NULL, &flags));
    SHOW((flags & MSG_TRUNC) != 0);
    CALL(send(ends[0], data, 150000, MSG_DONTWAIT));
    check("cut", message(ends[1], 140000, 0, NULL, &flags));
    SHOW((flags & MSG_TRUNC) != 0);
    CALL(write(ends[0], data, 100000));
    check("length", recv(ends[1], back, 70000, MSG_TRUNC));
    CALL(recv(ends[1], back, sizeof(back), MSG_DONTWAIT));
    CALL(writev(ends[0], parts, 2));
    check("read", read(ends[1], back, sizeof(back)));
    CALL(write(ends[0], data, 61440));
    check("read", read(ends[1], back, 61440));
    CALL(write(ends[0], data, 200000));
    check("read, cut", read(ends[1], back, 61440));
    CALL(recv(ends[1], back, sizeof(back), MSG_DONTWAIT));
    MUST(pipe(pipes));
    CALL(pass(ends[0], pipes[1], 100000));
    check("with a file", message(ends[1], 200000, 0, &file, &flags));
    CALL(write(file, "x", 1));
    CALL(read(pipes[0], &byte, 1));
    CALL(close(file));
    CALL(pass(ends[0], pipes[1], LONG + 1));
    CALL(pass(ends[0], pipes[1], 100000));
    check("the file is lost", recv(ends[1], back, sizeof(back), 0));
    close(pipes[1]);
    CALL(read(pipes[0], &byte, 1));
    close(pipes[0]);
    CALL(send(ends[0], data, 100000, 0));
    MUST(mprotect(back + (1 << 19), 1 << 19, PROT_NONE));
    CALL(recv(ends[1], back + (1 << 19) - 70000, 100000, 0));
    CALL(recv(ends[1], back, 1, MSG_DONTWAIT));
    MUST(mprotect(back + (1 << 19), 1 << 19, PROT_READ | PROT_WRITE));
    MUST(mprotect(data + (1 << 19), 1 << 19, PROT_NONE));
    CALL(send(ends[0], data + (1 << 19) - 70000, 100000, 0));
    CALL(recv(ends[1], back, 1, MSG_DONTWAIT));
    MUST(mprotect(data + (1 << 19), 1 << 19, PROT_READ | PROT_WRITE));
    CALL(close(ends[1]));
    CALL(send(ends[0], data, 100000, MSG_NOSIGNAL));
    close(ends[0]);
}
static int ends[2];

static int sends(void)
{
    go(1);
    for (unsigned i = 0; i < 8; i++) {
        fill(i);
        MUST(send(ends[0], data, 100000 + i * 10000, 0));
    }
    return 0;
}
static void between(int type)
{
    int child;

    MUST(socketpair(AF_UNIX, type, 0, ends));
    child = spawn(sends);
    for (unsigned i = 0; i < 8; i++) {
        fill(i);
        check("from another CPU", recv(ends[1], back, sizeof(back), 0));
    }
    reap(child);
    close(ends[0]);
    close(ends[1]);
}
int main(void)
{
    all(SOCK_DGRAM);
    all(SOCK_SEQPACKET);
    between(SOCK_DGRAM);
    between(SOCK_SEQPACKET);
    return 0;
}
