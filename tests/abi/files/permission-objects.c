/* Permissions of FIFOs, message queues, System V objects, shared memory and sockets by name: who may do what. */
#include "abi.h"

#include <mqueue.h>
#include <sys/ipc.h>

static int set, messages, segment;
static struct sockaddr_un at = {.sun_family = AF_UNIX};

static void uses(void)
{
    struct sembuf up = {0, 1, IPC_NOWAIT}, zero = {1, 0, IPC_NOWAIT};
    struct {
        long type;
        char text[8];
    } message = {1, ""};
    struct msqid_ds facts;
    struct iovec part = {"x", 1};
    struct msghdr header = {.msg_name = &at, .msg_namelen = sizeof(at), .msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr many = {.msg_hdr = header};
    int packet = (int)MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0)), datagram = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
    void *memory;

    CALL(open("fifo", O_RDONLY | O_NONBLOCK) < 0 ? -1 : 0);
    CALL(open("fifo", O_RDWR | O_NONBLOCK) < 0 ? -1 : 0);
    CALL(mq_open("/abi-rights", O_RDONLY) < 0 ? -1 : 0);
    CALL(mq_open("/abi-rights", O_WRONLY) < 0 ? -1 : 0);
    CALL(mq_open("/abi-rights", O_RDWR) < 0 ? -1 : 0);
    CALL(semop(set, &up, 1));
    CALL(semop(set, &zero, 1));
    CALL(semctl(set, 0, GETVAL) < 0 ? -1 : 0);
    CALL(semctl(set, 0, SETVAL, 1));
    CALL(msgsnd(messages, &message, 8, IPC_NOWAIT));
    CALL(msgrcv(messages, &message, 8, 0, IPC_NOWAIT));
    CALL(msgctl(messages, IPC_STAT, &facts));
    memory = shmat(segment, NULL, SHM_RDONLY);
    printf("shmat to read: %s\n", memory == (void *)-1 ? errno_name(errno) : "done");
    memory = shmat(segment, NULL, 0);
    printf("shmat: %s\n", memory == (void *)-1 ? errno_name(errno) : "done");
    CALL(open("/dev/shm/abi-rights", O_RDONLY) < 0 ? -1 : 0);
    CALL(open("/dev/shm/abi-rights", O_RDWR) < 0 ? -1 : 0);
    strcpy(at.sun_path, "p");
    CALL(connect(packet, (struct sockaddr *)&at, sizeof(at)));
    strcpy(at.sun_path, "d");
    CALL(sendmsg(datagram, &header, 0));
    CALL(sendmmsg(datagram, &many, 1, 0));
    strcpy(at.sun_path, "link");
    CALL(connect(datagram, (struct sockaddr *)&at, sizeof(at)));
}
static int as_user(void)
{
    gid_t group = 50;

    MUST(setgroups(1, &group));
    MUST(setgid(60));
    MUST(setuid(1234));
    uses();
    CALL(msgctl(messages, IPC_RMID, NULL));
    CALL(semctl(set, 0, IPC_RMID));
    CALL(shmctl(segment, IPC_RMID, NULL));
    CALL(mq_unlink("/abi-rights"));
    CALL(unlink("/dev/shm/abi-rights"));
    return 0;
}
int setgroups(size_t count, const gid_t *groups);

static void with_mode(mode_t mode)
{
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 16};
    mqd_t queue;
    gid_t group = 50;

    printf("mode %03o\n", (unsigned)mode);
    MUST(mkfifo("fifo", 0600));
    MUST(chown("fifo", 0, group));
    MUST(chmod("fifo", mode));
    queue = (mqd_t)MUST(mq_open("/abi-rights", O_RDWR | O_CREAT, 0600, &attributes));
    (void)queue;
    MUST(fchmod(queue, mode));
    MUST(fchown(queue, 0, group));
    set = (int)MUST(semget(IPC_PRIVATE, 2, IPC_CREAT | (int)mode));
    messages = (int)MUST(msgget(IPC_PRIVATE, IPC_CREAT | (int)mode));
    segment = (int)MUST(shmget(IPC_PRIVATE, PAGE, IPC_CREAT | (int)mode));
    MUST(close((int)MUST(open("/dev/shm/abi-rights", O_RDWR | O_CREAT, 0600))));
    MUST(chown("/dev/shm/abi-rights", 0, group));
    MUST(chmod("/dev/shm/abi-rights", mode));
    MUST(chown("p", 0, group));
    MUST(chmod("p", mode));
    MUST(chown("d", 0, group));
    MUST(chmod("d", mode));
    reap(spawn(as_user));
    MUST(unlink("fifo"));
    MUST(mq_unlink("/abi-rights"));
    MUST(unlink("/dev/shm/abi-rights"));
    MUST(msgctl(messages, IPC_RMID, NULL));
    MUST(semctl(set, 0, IPC_RMID));
    MUST(shmctl(segment, IPC_RMID, NULL));
}
int main(void)
{
    int packet = (int)MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0)), datagram = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));

    MUST(chmod(".", 0755));
    umask(0);
    strcpy(at.sun_path, "p");
    MUST(bind(packet, (struct sockaddr *)&at, sizeof(at)));
    MUST(listen(packet, 100));
    strcpy(at.sun_path, "d");
    MUST(bind(datagram, (struct sockaddr *)&at, sizeof(at)));
    MUST(symlink("d", "link"));
    with_mode(0);
    with_mode(0600);
    with_mode(0040);
    with_mode(0060);
    with_mode(0004);
    with_mode(0002);
    with_mode(0006);
    with_mode(0666);
    return 0;
}
