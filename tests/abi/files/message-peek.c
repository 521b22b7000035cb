/* What looks at a message without taking it: MSG_COPY, MSG_PEEK, tee. Nobody who waits for room is woken. */
#include "abi.h"

#define COPY 040000
static struct message {
    long type;
    char text[64];
} message;
static int queue;
static atomic_int sent;

static void tell_queue(void)
{
    struct msqid_ds facts;

    MUST(msgctl(queue, IPC_STAT, &facts));
    printf("messages %ld bytes %ld received by %s\n", (long)facts.msg_qnum, (long)facts.__msg_cbytes,
           facts.msg_lrpid == 0 ? "nobody" : "somebody");
}
static void *sends(void *unused)
{
    struct message more = {.type = 9};

    MUST(msgsnd(queue, &more, 60, 0));
    atomic_store(&sent, 1);
    return unused;
}
static int as_user(void)
{
    MUST(setuid(1234));
    CALL(msgrcv(queue, &message, 64, 0, COPY | IPC_NOWAIT));
    CALL(msgrcv(queue, &message, 64, 0, IPC_NOWAIT));
    return 0;
}
static void of_queue(void)
{
    struct msqid_ds facts;
    pthread_t thread;

    queue = (int)MUST(msgget(IPC_PRIVATE, 0600));
    message.type = 5;
    memset(message.text, 'a', sizeof(message.text));
    MUST(msgsnd(queue, &message, 64, 0));
    MUST(msgctl(queue, IPC_STAT, &facts));
    facts.msg_qbytes = 100;
    MUST(msgctl(queue, IPC_SET, &facts));
    CALL(msgsnd(queue, &message, 60, IPC_NOWAIT));
    thread = start(sends, NULL);
    for (int i = 0; i < 8; i++) {
        CALL(msgrcv(queue, &message, 64, 0, COPY | IPC_NOWAIT));
        sleep_ms(10);
    }
    SHOW(sent);
    tell_queue();
    reap(spawn(as_user));
    CALL(msgrcv(queue, &message, 10, 0, COPY | IPC_NOWAIT));
    CALL(msgrcv(queue, &message, 10, 0, COPY | IPC_NOWAIT | MSG_NOERROR));
    CALL(msgrcv(queue, (void *)8, 64, 0, COPY | IPC_NOWAIT));
    CALL(msgrcv(queue, &message, (size_t)-1, 0, COPY | IPC_NOWAIT));
    tell_queue();
    CALL(msgrcv(queue, &message, 64, 5, 0));
    pthread_join(thread, NULL);
    SHOW(sent);
    tell_queue();
    CALL(msgrcv(queue, &message, 64, 0, COPY | IPC_NOWAIT));
    SHOW(message.type);
    MUST(msgctl(queue, IPC_RMID, NULL));
    CALL(msgrcv(queue, &message, 64, 0, COPY | IPC_NOWAIT));
}
static void of_socket(int type)
{
    char text[64] = "";
    int ends[2], count;

    printf("type %d\n", type);
    MUST(socketpair(AF_UNIX, type, 0, ends));
    MUST(send(ends[0], "first", 5, 0));
    MUST(send(ends[0], "second", 6, 0));
    for (int i = 0; i < 2; i++) {
        CALL(recv(ends[1], text, 3, MSG_PEEK));
        CALL(recv(ends[1], text, 3, MSG_PEEK | MSG_TRUNC));
        CALL(recv(ends[1], text, 60, MSG_PEEK | MSG_DONTWAIT));
    }
    MUST(ioctl(ends[1], FIONREAD, &count));
    SHOW(count);
    CALL(recv(ends[1], text, 60, 0));
    CALL(recv(ends[1], text, 60, MSG_PEEK | MSG_DONTWAIT));
    CALL(recv(ends[1], text, 60, MSG_DONTWAIT));
    CALL(recv(ends[1], text, 60, MSG_PEEK | MSG_DONTWAIT));
    close(ends[0]);
    CALL(recv(ends[1], text, 60, MSG_PEEK | MSG_DONTWAIT));
    close(ends[1]);
}
static void of_pipe(void)
{
    int from[2], to[2], count;
    char text[64];

    MUST(pipe2(from, O_NONBLOCK));
    MUST(pipe2(to, O_NONBLOCK));
    CALL(tee(from[0], to[1], 10, SPLICE_F_NONBLOCK));
    MUST(write(from[1], "0123456789", 10));
    CALL(tee(from[0], to[1], 4, 0));
    CALL(tee(from[0], to[1], 100, 0));
    MUST(ioctl(from[0], FIONREAD, &count));
    SHOW(count);
    MUST(ioctl(to[0], FIONREAD, &count));
    SHOW(count);
    CALL(read(to[0], text, 64));
    CALL(read(from[0], text, 64));
}
int main(void)
{
    of_queue();
    of_socket(SOCK_STREAM);
    of_socket(SOCK_DGRAM);
    of_socket(SOCK_SEQPACKET);
    of_pipe();
    return 0;
}
