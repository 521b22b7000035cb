/* Threads that wait for a message queue are served by priority, then in order; those that give up take nothing. */
#include "abi.h"

#include <mqueue.h>

#define WAITERS 6
static const int priorities[WAITERS] = {0, 20, 10, 30, 0, 30}, nice_values[WAITERS] = {5, 0, 0, 0, 2, 0};
static mqd_t queue;
static bool sends;
static atomic_int order, got[WAITERS], tids[WAITERS];

static void *waits(void *argument)
{
    int i = (int)(long)argument;
    struct sched_param parameters = {.sched_priority = priorities[i]};
    char text[16] = "";

    go(i);
    MUST(syscall(SYS_sched_setscheduler, 0, priorities[i] > 0 ? SCHED_FIFO : SCHED_OTHER, &parameters));
    MUST(setpriority(PRIO_PROCESS, (id_t)gettid(), nice_values[i]));
    atomic_store(&tids[i], gettid());
    if (sends)
        MUST(mq_send(queue, (char[]){(char)('0' + i), '\0'}, 2, 0));
    else
        MUST(mq_receive(queue, text, sizeof(text), NULL));
    atomic_store(&got[atomic_load(&order)], i); /* one runs at a time */
    atomic_fetch_add(&order, 1);
    return NULL;
}
static void all_wait(pthread_t threads[WAITERS])
{
    atomic_store(&order, 0);
    for (long i = 0; i < WAITERS; i++) {
        atomic_store(&tids[i], 0);
        threads[i] = start(waits, (void *)i);
        while (atomic_load(&tids[i]) == 0)
            sched_yield();
        for (int j = 0; j < 4; j++) {
            sleep_ms(10);
            until_asleep(getpid(), atomic_load(&tids[i]));
        }
    }
}
static void tell(const char *what, pthread_t threads[WAITERS])
{
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    printf("%s:", what);
    for (int i = 0; i < WAITERS; i++)
        printf(" %d", atomic_load(&got[i]));
    printf("\n");
}
static long held(void)
{
    struct mq_attr facts;

    MUST(mq_getattr(queue, &facts));
    return facts.mq_curmsgs;
}
static void handler(int number)
{
    (void)number;
}
static int receiver(void)
{
    char text[16];

    go(1);
    MUST(mq_receive(queue, text, sizeof(text), NULL));
    return 9;
}
static int sender(void)
{
    go(2);
    MUST(mq_send(queue, "late", 5, 7));
    return 9;
}
static void kill_waiting(int (*function)(void))
{
    pid_t pid = spawn(function);

    for (int j = 0; j < 4; j++) {
        sleep_ms(10);
        until_asleep(pid, pid);
    }
    MUST(kill(pid, SIGKILL));
    reap(pid);
}
static void gives_up(void)
{
    struct timespec limit;
    char text[16] = "";

    kill_waiting(receiver);
    CALL(mq_send(queue, "stays", 6, 1));
    SHOW(held());
    kill_waiting(sender);
    MUST(clock_gettime(CLOCK_REALTIME, &limit));
    limit.tv_nsec += 20000000;
    if (limit.tv_nsec >= 1000000000) {
        limit.tv_sec++;
        limit.tv_nsec -= 1000000000;
    }
    CALL(mq_timedsend(queue, "never", 6, 9, &limit));
    CALL(mq_receive(queue, text, sizeof(text), NULL));
    TEXT(text);
    SHOW(held());
    limit.tv_sec++;
    on_signal(SIGALRM, handler, 0);
    alarms(20);
    CALL(mq_timedreceive(queue, text, sizeof(text), NULL, &limit));
    alarms(0);
    CALL(mq_send(queue, "again", 6, 1));
    SHOW(held());
    CALL(mq_receive(queue, text, sizeof(text), NULL));
    TEXT(text);
}
int main(void)
{
    struct mq_attr facts = {.mq_maxmsg = 1, .mq_msgsize = 16};
    pthread_t threads[WAITERS];
    char text[16];

    queue = (mqd_t)MUST(mq_open("/abi-order", O_RDWR | O_CREAT, 0600, &facts));
    MUST(mq_unlink("/abi-order"));
    all_wait(threads);
    for (int i = 0; i < WAITERS; i++) {
        MUST(mq_send(queue, "x", 2, 0));
        while (atomic_load(&order) <= i)
            sched_yield();
    }
    tell("receivers", threads);
    sends = true;
    MUST(mq_send(queue, "y", 2, 0));
    all_wait(threads);
    for (int i = 0; i < WAITERS; i++) {
        MUST(mq_receive(queue, text, sizeof(text), NULL));
        while (atomic_load(&order) <= i)
            sched_yield();
    }
    tell("senders", threads);
    MUST(mq_receive(queue, text, sizeof(text), NULL));
    gives_up();
    return 0;
}
