/* Threads that wait for a message queue are served by priority, then in order; those that give up take nothing. */
#include "waiters.h"

#include <mqueue.h>

static const int nice_values[WAITERS] = {5, 0, 0, 0, 2, 0};
static mqd_t queue;

static void receives(int i)
{
    char text[16] = "";

    MUST(setpriority(PRIO_PROCESS, (id_t)gettid(), nice_values[i]));
    MUST(mq_receive(queue, text, sizeof(text), NULL));
    served(i);
}
static void sends(int i)
{
    MUST(setpriority(PRIO_PROCESS, (id_t)gettid(), nice_values[i]));
    MUST(mq_send(queue, (char[]){(char)('0' + i), '\0'}, 2, 0));
    served(i);
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

    until_waits(pid, pid);
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
    char text[16];

    queue = (mqd_t)MUST(mq_open("/abi-order", O_RDWR | O_CREAT, 0600, &facts));
    MUST(mq_unlink("/abi-order"));
    all_wait(receives);
    for (int i = 0; i < WAITERS; i++) {
        MUST(mq_send(queue, "x", 2, 0));
        until_served(i + 1);
    }
    tell_order("receivers");
    MUST(mq_send(queue, "y", 2, 0));
    all_wait(sends);
    for (int i = 0; i < WAITERS; i++) {
        MUST(mq_receive(queue, text, sizeof(text), NULL));
        until_served(i + 1);
    }
    tell_order("senders");
    MUST(mq_receive(queue, text, sizeof(text), NULL));
    gives_up();
    return 0;
}
