/* A thread of SCHED_FIFO that System V objects, queues and locks of files wake runs before its waker goes on. */
#include "abi.h"

#include <mqueue.h>

static atomic_int steps;
static int set, messages, file;
static mqd_t queue;
static struct {
    long type;
    char text[8];
} message;

static void takes_semaphore(void)
{
    struct sembuf step = {0, -1, 0};

    MUST(semop(set, &step, 1));
}
static void gives_semaphore(void)
{
    struct sembuf step = {0, 1, 0};

    MUST(semop(set, &step, 1));
}
static void sets_semaphore(void)
{
    MUST(semctl(set, 0, SETVAL, 1));
}
static void receives(void)
{
    MUST(msgrcv(messages, &message, 8, 0, 0));
}
static void sends(void)
{
    message.type = 1;
    MUST(msgsnd(messages, &message, 8, 0));
}
static void receives_posix(void)
{
    char text[16];

    MUST(mq_receive(queue, text, sizeof(text), NULL));
}
static void sends_posix(void)
{
    MUST(mq_send(queue, "x", 2, 0));
}
static void locks(void)
{
    struct flock lock = {.l_type = F_WRLCK};

    MUST(fcntl(open("file", O_RDWR), 38, &lock)); /* F_OFD_SETLKW */
}
static void unlocks(void)
{
    struct flock lock = {.l_type = F_UNLCK};

    MUST(fcntl(file, 37, &lock)); /* F_OFD_SETLK */
}
static void (*wait_for_it)(void);
static void *waits(void *unused)
{
    wait_for_it();
    atomic_store(&steps, 1);
    return unused;
}
static void one(const char *what, void (*wait)(void), void (*wake)(void))
{
    struct sched_param parameters = {.sched_priority = 30};
    pthread_attr_t attributes;
    pthread_t thread;
    int kept;

    atomic_store(&steps, 0);
    wait_for_it = wait;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameters);
    MUST(pthread_create(&thread, &attributes, waits, NULL) == 0 ? 0 : -1);
    for (int i = 0; i < 4; i++)
        sleep_ms(10);
    wake();
    kept = atomic_load(&steps);
    printf("%s: %d\n", what, kept);
    pthread_join(thread, NULL);
}
static int shown(void)
{
    struct sched_param parameters = {.sched_priority = 20};
    struct mq_attr facts = {.mq_maxmsg = 1, .mq_msgsize = 16};
    struct flock lock = {.l_type = F_WRLCK};

    set = (int)MUST(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
    messages = (int)MUST(msgget(IPC_PRIVATE, 0600));
    queue = (mqd_t)MUST(mq_open("/abi-fifo", O_RDWR | O_CREAT, 0600, &facts));
    MUST(mq_unlink("/abi-fifo"));
    put_file("file", "text");
    file = (int)MUST(open("file", O_RDWR));
    MUST(fcntl(file, 37, &lock));
    MUST(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameters));
    one("semop", takes_semaphore, gives_semaphore);
    one("SETVAL", takes_semaphore, sets_semaphore);
    one("msgsnd", receives, sends);
    one("mq_send", receives_posix, sends_posix);
    one("lock of a file", locks, unlocks);
    MUST(semctl(set, 0, IPC_RMID));
    MUST(msgctl(messages, IPC_RMID, NULL));
    return 0;
}
int main(void)
{
    go(0);
    reap(spawn_here(shown));
    return 0;
}
