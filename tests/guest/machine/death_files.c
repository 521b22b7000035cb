/* test-death: files at home on the kernel that dies, and what processes there had of files elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define LOCKED "/tmp/death-lock"
#define QUEUE "/death-queue"

/* Gives away a pipe's reading end, and a socket. */
int death_home_pipes(int argc, char **argv)
{
    int ends[2];

    (void)argc;
    (void)argv;
    if (pipe(ends) != 0)
        return 92;
    death_send_fd(3, ends[0]);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 92;
    death_send_fd(3, ends[0]);
    for (;;)
        pause();
}

static void *read_it(void *fd)
{
    char byte;
    ssize_t got;

    atomic_store(&death_board->ready, (int)syscall(SYS_gettid));
    got = read((int)(intptr_t)fd, &byte, 1);
    return (void *)(intptr_t)(got < 0 ? -errno : got);
}

/* What is at home there: an error, and no endless wait. */
void death_test_files(void)
{
    int dying = death_victim(0), talk, pipe_end, socket_end;
    struct pollfd polled;
    pthread_t reader;
    void *result;
    pid_t child;
    char byte;

    death_begin();
    child = death_spawn(dying, "@pipes", &talk);
    pipe_end = death_receive_fd(talk);
    socket_end = death_receive_fd(talk);
    MUST(-pthread_create(&reader, NULL, read_it, (void *)(intptr_t)pipe_end));
    UNTIL(death_board->ready != 0 && tap_sleeps(0, death_board->ready), "a reader to wait");
    death_kill(dying, KETTLE_KILL_NOW);
    MUST(-pthread_join(reader, &result));
    CHECK((intptr_t)result == -EIO, "a read that waited: %ld", (long)(intptr_t)result);
    CHECK_DIES(child, SIGKILL);
    for (int again = 0; again < 2; again++) {
        CHECK_ERROR(read(pipe_end, &byte, 1), EIO);
        CHECK_ERROR(write(socket_end, "x", 1), EIO);
        polled = (struct pollfd){.fd = pipe_end, .events = POLLIN};
        CHECK(poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0, "poll says %x", polled.revents);
        CHECK(read(talk, &byte, 1) == 0, "the socket to it has no end: %s", tap_error(errno));
        if (again == 0)
            death_start_again(dying); /* nothing there has these files */
    }
    CHECK(close(pipe_end) == 0 && close(socket_end) == 0 && close(talk) == 0, "%s", tap_error(errno));
    death_audit();
}

/* Connections that wait to be accepted, with what was sent on them, and a listener that is closed with one. */
void death_test_backlog(void)
{
    const struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0death-backlog"};
    int dying = death_victim(0), clients[3], end;
    int server = (int)MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)); /* without a connection: an error */
    char text[8];

    death_begin();
    MUST(bind(server, (const struct sockaddr *)&name, sizeof(name)));
    MUST(listen(server, 4));
    for (int i = 0; i < 3; i++) {
        clients[i] = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
        MUST(connect(clients[i], (const struct sockaddr *)&name, sizeof(name)));
        CHECK(write(clients[i], "early", 5) == 5, "%s", tap_error(errno));
    }
    death_audit();
    death_kill(dying, KETTLE_KILL_NOW);
    death_audit();
    for (int i = 0; i < 2; i++) {
        end = accept(server, NULL, NULL);
        CHECK(end >= 0 && read(end, text, sizeof(text)) == 5 && memcmp(text, "early", 5) == 0, "connection %d: %s", i,
              tap_error(errno));
        CHECK(write(clients[i], "late", 4) == 4 && read(end, text, sizeof(text)) == 4 && write(end, "x", 1) == 1 &&
                  read(clients[i], text, sizeof(text)) == 1,
              "connection %d, afterwards: %s", i, tap_error(errno));
        CHECK(close(end) == 0 && close(clients[i]) == 0, "%s", tap_error(errno));
    }
    CHECK(close(server) == 0, "%s", tap_error(errno));
    CHECK_ERROR(read(clients[2], text, sizeof(text)), ECONNRESET);
    close(clients[2]);
    death_audit();
    death_start_again(dying);
}

#define QUEUED 200 /* more than a call closes itself */
#define LARGE_EVERY 4
#define LARGE_PAGES 140 /* a worker frees a file with so many */

/* Keeps a descriptor. */
int death_home_keeper(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    death_receive_fd(3);
    death_say(3);
    for (;;)
        pause();
}

/* Puts files into the queue of a new socket, WRITER behind them, and gives that to who is behind TALK. */
static void queue_files(int talk, int writer)
{
    static const char page[PAGE] = {1};
    int ends[2];

    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    for (int i = 0; i < QUEUED; i++) {
        int fd = (int)MUST(memfd_create("queued", 0));

        for (int n = 0; n < (i % LARGE_EVERY == 0 ? LARGE_PAGES : 1); n++)
            MUST(write(fd, page, PAGE));
        death_send_fd(ends[0], fd);
        close(fd);
    }
    death_send_fd(ends[0], writer);
    death_send_fd(talk, ends[1]);
    death_hear(talk);
    _exit(0);
}

/* The last descriptor of a socket elsewhere is one there: when programs go on, all is closed that was in its queue.
 * This shows that the workers close it, and that the audit finds nothing wrong afterwards. They are mostly done before
 * frames are counted, also if nobody waits for them: that the coordinator has to wait is shown by reclaim.pml, bug 9.
 */
void death_test_queued(void)
{
    int dying = death_victim(0), talk, ends[2];
    pid_t keeper, sender;
    char byte;

    death_begin();
    MUST(pipe2(ends, O_NONBLOCK));
    keeper = death_spawn(dying, "@keeper", &talk);
    sender = FORK();
    if (sender == 0) {
        death_go(death_neighbour(dying));
        sender = FORK();
        if (sender == 0)
            queue_files(talk, ends[1]);
        close(ends[1]);
        MUST(waitpid(sender, NULL, 0));
        _exit(0);
    }
    close(ends[1]);
    CHECK_EXITS(sender, 0);
    CHECK_ERROR(read(ends[0], &byte, 1), EAGAIN);
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK(read(ends[0], &byte, 1) == 0, "the last descriptor of the queue is still open: %s", tap_error(errno));
    CHECK_DIES(keeper, SIGKILL);
    close(talk);
    close(ends[0]);
    death_audit();
    death_start_again(dying);
}

int death_home_locks(int argc, char **argv)
{
    struct sembuf down = {.sem_op = -1, .sem_flg = SEM_UNDO};
    struct flock lock = {.l_type = F_WRLCK};
    char text[16];
    int fd = open(LOCKED, O_RDWR);

    (void)argc;
    (void)argv;
    if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0 || flock(fd, LOCK_EX) != 0)
        return 93;
    if (semop(semget(0x4b44, 1, 0), &down, 1) != 0)
        return 94;
    fd = mq_open(QUEUE, O_RDWR);
    if (fd < 0 || mq_notify(fd, &(struct sigevent){.sigev_notify = SIGEV_NONE}) != 0)
        return 96;
    death_say(3);
    mq_receive(fd, text, sizeof(text), NULL); /* for ever */
    for (;;)
        pause();
}

void death_test_locks(void)
{
    int dying = death_victim(0), talk, fd, set;
    struct mq_attr facts = {.mq_maxmsg = 2, .mq_msgsize = 16};
    struct flock lock = {.l_type = F_WRLCK};
    pid_t child, waiter;
    char text[16];
    mqd_t queue;

    death_begin();
    queue = (mqd_t)MUST(mq_open(QUEUE, O_RDWR | O_CREAT | O_NONBLOCK, 0600, &facts));
    fd = (int)MUST(open(LOCKED, O_RDWR | O_CREAT, 0600));
    set = (int)MUST(semget(0x4b44, 1, IPC_CREAT | 0600));
    MUST(semctl(set, 0, SETVAL, 1));
    child = death_spawn(dying, "@locks", &talk);
    death_hear(talk);
    close(talk);
    waiter = FORK();
    if (waiter == 0) {
        atomic_store(&death_board->ready, getpid());
        MUST(fcntl(fd, F_SETLKW, &lock));
        _exit(5);
    }
    UNTIL(death_board->ready != 0 && tap_sleeps(waiter, waiter), "a process to wait for the lock");
    UNTIL(tap_sleeps(child, child), "a receiver");
    death_kill(dying, KETTLE_KILL_SPIN);
    CHECK_EXITS(waiter, 5);
    CHECK_DIES(child, SIGKILL);
    CHECK(mq_notify(queue, &(struct sigevent){.sigev_notify = SIGEV_NONE}) == 0, "mq_notify: %s", tap_error(errno));
    CHECK(mq_send(queue, "kept", 5, 0) == 0 && mq_receive(queue, text, sizeof(text), NULL) == 5,
          "the message has gone: %s", tap_error(errno));
    CHECK(mq_close(queue) == 0 && mq_unlink(QUEUE) == 0, "%s", tap_error(errno));
    CHECK(flock(fd, LOCK_EX | LOCK_NB) == 0, "the file is locked: %s", tap_error(errno));
    CHECK(semctl(set, 0, GETVAL) == 1, "the semaphore is %d", semctl(set, 0, GETVAL));
    MUST(semctl(set, 0, IPC_RMID));
    close(fd);
    unlink(LOCKED);
    death_start_again(dying);
}
