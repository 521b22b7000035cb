/* Which sizes the buffers of sockets, FIFOs and queues take. */
#include "abi.h"

#include <mqueue.h>

static void buffer(int option, const char *name, int wanted)
{
    int fd = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0)), size = 0, error;
    socklen_t length = sizeof(size);

    error = setsockopt(fd, SOL_SOCKET, option, &wanted, sizeof(wanted)) != 0 ? errno : 0;
    MUST(getsockopt(fd, SOL_SOCKET, option, &size, &length));
    printf("%s %d: %s, %d\n", name, wanted, error == 0 ? "0" : errno_name(error), size);
    close(fd);
}
static void buffers(void)
{
    static const int sizes[] = {INT_MIN, -1, 0, 1, 1024, 2303, 2304, 4608, 100000, 212992, 212993, 1 << 20, INT_MAX};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        buffer(SO_SNDBUF, "SO_SNDBUF", sizes[i]);
        buffer(SO_RCVBUF, "SO_RCVBUF", sizes[i]);
    }
}
static int as_user(void)
{
    int fd;

    MUST(setuid(1234));
    MUST(fd = open("fifo", O_RDWR));
    CALL(fcntl(fd, F_SETPIPE_SZ, 8192));
    CALL(fcntl(fd, F_GETPIPE_SZ));
    CALL(fcntl(fd, F_SETPIPE_SZ, (1 << 20) + 1));
    CALL(fcntl(fd, F_SETPIPE_SZ, 65536));
    return 0;
}
static void queue(long count, long size)
{
    struct mq_attr facts = {.mq_maxmsg = count, .mq_msgsize = size};
    mqd_t got = mq_open("/abi-sizes", O_RDWR | O_CREAT, 0600, &facts);

    printf("queue of %ld of %ld: %s\n", count, size, got < 0 ? errno_name(errno) : "made");
    if (got >= 0) {
        mq_close(got);
        mq_unlink("/abi-sizes");
    }
}
static int queues_of_user(void)
{
    MUST(setuid(1234));
    queue(10, 8192);
    queue(11, 8192);
    queue(10, 8193);
    queue(0, 10);
    queue(-1, 10);
    queue(10, 0);
    return 0;
}
int main(void)
{
    struct msqid_ds facts;
    int messages;

    umask(0);
    MUST(chmod(".", 0755));
    MUST(mkfifo("fifo", 0666));
    buffers();
    reap(spawn(as_user));
    queue(1, 1);
    queue(0, 10);
    queue(10, 0);
    queue(-1, 10);
    queue(10, -1);
    reap(spawn(queues_of_user));
    messages = (int)MUST(msgget(IPC_PRIVATE, 0600));
    MUST(msgctl(messages, IPC_STAT, &facts));
    SHOW(facts.msg_qbytes);
    facts.msg_qbytes = 1 << 20;
    CALL(msgctl(messages, IPC_SET, &facts));
    facts.msg_qbytes = 0;
    CALL(msgctl(messages, IPC_SET, &facts));
    MUST(msgctl(messages, IPC_STAT, &facts));
    SHOW(facts.msg_qbytes);
    MUST(msgctl(messages, IPC_RMID, NULL));
    return 0;
}
