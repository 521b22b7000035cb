/* Reads and writes over memory of which a part is bad: how many bytes move, and what stays. */
#include "abi.h"

/* Three pages that can be used; behind them nothing is mapped. */
static char *memory(void)
{
    static char *at;

    if (at == NULL) {
        at = MAP(4 * PAGE, MAP_PRIVATE);
        MUST(munmap(at + 3 * PAGE, PAGE));
    }
    return at;
}

static char *before_end(long bytes)
{
    return memory() + 3 * PAGE - bytes;
}

static char source[65536];

static long left(int fd)
{
    int count = -1;

    MUST(ioctl(fd, FIONREAD, &count));
    return count;
}

static void to_file(void)
{
    int fd = (int)MUST(open("f", O_RDWR | O_CREAT | O_TRUNC, 0644));
    struct iovec parts[3] = {{source, 10}, {before_end(20), 100}, {source, 30}};

    CALL(write(fd, before_end(100), 300));
    SHOW(lseek(fd, 0, SEEK_CUR));
    CALL(write(fd, before_end(PAGE + 5), 2 * PAGE));
    SHOW(lseek(fd, 0, SEEK_CUR));
    CALL(write(fd, before_end(0), 10));
    CALL(pwrite(fd, before_end(7), 10, 100000));
    SHOW(lseek(fd, 0, SEEK_END));
    CALL(writev(fd, parts, 3));
    CALL(pwritev(fd, parts + 1, 2, 0));
    SHOW(lseek(fd, 0, SEEK_END));
    close(fd);
}

static void from_file(void)
{
    int fd = (int)MUST(open("g", O_RDWR | O_CREAT | O_TRUNC, 0644));
    struct iovec parts[3] = {{source, 10}, {before_end(20), 100}, {source, 30}};

    MUST(write(fd, source, 20000));
    MUST(lseek(fd, 0, SEEK_SET));
    CALL(read(fd, before_end(100), 300));
    SHOW(lseek(fd, 0, SEEK_CUR));
    CALL(read(fd, before_end(PAGE + 5), 2 * PAGE));
    SHOW(lseek(fd, 0, SEEK_CUR));
    CALL(read(fd, before_end(0), 10));
    SHOW(lseek(fd, 0, SEEK_CUR));
    CALL(pread(fd, before_end(7), 10, 0));
    CALL(pread(fd, before_end(7), 10, 19996));
    CALL(pread(fd, before_end(0), 10, 20000));
    CALL(readv(fd, parts, 3));
    SHOW(lseek(fd, 0, SEEK_CUR));
    CALL(preadv(fd, parts + 1, 2, 0));
    close(fd);
}

static void to_pipe(void)
{
    struct iovec parts[3] = {{source, 10}, {before_end(20), 100}, {source, 30}};
    int fds[2];

    MUST(pipe(fds));
    CALL(write(fds[1], before_end(100), 300));
    SHOW(left(fds[0]));
    CALL(write(fds[1], before_end(PAGE + 5), 2 * PAGE));
    SHOW(left(fds[0]));
    CALL(write(fds[1], before_end(2 * PAGE + 100), 3 * PAGE));
    SHOW(left(fds[0]));
    CALL(writev(fds[1], parts, 3));
    SHOW(left(fds[0]));
    close(fds[0]);
    close(fds[1]);
}

static void from_pipe(void)
{
    struct iovec parts[3] = {{source, 10}, {before_end(20), 100}, {source, 30}};
    int fds[2];

    MUST(pipe(fds));
    CALL(fcntl(fds[0], F_SETFL, O_NONBLOCK));
    CALL(read(fds[0], before_end(0), 10));
    MUST(write(fds[1], source, 200));
    CALL(read(fds[0], before_end(100), 300));
    SHOW(left(fds[0]));
    CALL(read(fds[0], before_end(0), 300));
    CALL(readv(fds[0], parts, 3));
    SHOW(left(fds[0]));
    CALL(read(fds[0], before_end(200), 300));
    SHOW(left(fds[0]));
    MUST(write(fds[1], source, 3 * PAGE));
    CALL(read(fds[0], before_end(2 * PAGE + 100), 3 * PAGE));
    SHOW(left(fds[0]));
    close(fds[1]);
    CALL(read(fds[0], source, sizeof(source)));
    CALL(read(fds[0], before_end(0), 10));
    close(fds[0]);
}

static void sockets(int type)
{
    struct iovec parts[3] = {{source, 10}, {before_end(20), 100}, {source, 30}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    int fds[2];

    printf("type %d\n", type);
    MUST(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, fds));
    CALL(recv(fds[0], before_end(0), 10, 0));
    CALL(write(fds[1], before_end(100), 300));
    CALL(sendmsg(fds[1], &message, 0));
    CALL(write(fds[1], before_end(PAGE + 5), 2 * PAGE));
    SHOW(left(fds[0]));
    MUST(write(fds[1], source, 200));
    CALL(read(fds[0], before_end(100), 300));
    SHOW(left(fds[0]));
    CALL(recvmsg(fds[0], &message, 0));
    SHOW(left(fds[0]));
    CALL(read(fds[0], before_end(200), 300));
    MUST(write(fds[1], source, 3000));
    MUST(write(fds[1], source, 3000));
    CALL(read(fds[0], before_end(4000), 6000));
    SHOW(left(fds[0]));
    CALL(recv(fds[0], before_end(4000), 6000, MSG_PEEK));
    CALL(recv(fds[0], before_end(4000), 6000, 0));
    SHOW(left(fds[0]));
    close(fds[0]);
    close(fds[1]);
}

static void devices(void)
{
    int null = (int)MUST(open("/dev/null", O_RDWR)), zero = (int)MUST(open("/dev/zero", O_RDWR));
    int event = (int)MUST(eventfd(5, EFD_NONBLOCK));
    uint64_t value;

    CALL(write(null, before_end(10), 100));
    CALL(write(null, before_end(0), 100));
    CALL(read(null, before_end(0), 100));
    CALL(write(zero, before_end(10), 100));
    CALL(read(zero, before_end(16), 100));
    CALL(read(zero, before_end(0), 100));
    CALL(read(event, before_end(4), 8));
    CALL(read(event, &value, 8));
    CALL(write(event, before_end(4), 8));
    CALL(read(event, &value, 8));
}

static void errors(void)
{
    int folder = (int)MUST(open(".", O_RDONLY)), written = (int)MUST(open("f", O_WRONLY));
    int only = (int)MUST(open("f", O_RDONLY));

    CALL(read(folder, before_end(0), 10));
    CALL(read(written, before_end(0), 10));
    CALL(write(only, before_end(0), 10));
    CALL(read(-1, before_end(0), 10));
    CALL(write(-1, before_end(0), 10));
    CALL(read(only, before_end(0), 0));
    CALL(write(written, before_end(0), 0));
}

int main(void)
{
    to_file();
    from_file();
    to_pipe();
    from_pipe();
    sockets(SOCK_STREAM);
    sockets(SOCK_DGRAM);
    sockets(SOCK_SEQPACKET);
    devices();
    errors();
    return 0;
}
