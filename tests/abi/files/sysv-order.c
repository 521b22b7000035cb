/* semop: those who wait are served in order of arrival, whatever their priorities; the call is done before they run. */
#include "abi.h"

#define WAITERS 4
static int set;
static atomic_int order[2 * WAITERS], next;
static atomic_int tids[WAITERS];

static int operate(int number, int change, int flags)
{
    struct sembuf step = {(unsigned short)number, (short)change, (short)flags};

    return semop(set, &step, 1);
}
static void note(int who)
{
    atomic_store(&order[atomic_fetch_add(&next, 1)], who);
}
/* Each on another CPU; the last to come has the highest priority. */
static void *takes(void *argument)
{
    int i = (int)(long)argument;
    struct sched_param parameters = {.sched_priority = 10 + i};

    go(i);
    MUST(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameters));
    atomic_store(&tids[i], gettid());
    MUST(operate(0, -1, 0));
    note(i);
    return NULL;
}
static void *takes_more(void *argument)
{
    int i = (int)(long)argument;

    go(i);
    atomic_store(&tids[i], gettid());
    MUST(operate(0, i == 0 ? -3 : i == 2 ? 0 : -2, 0));
    note(i);
    return NULL;
}
static void begin_in_order(pthread_t threads[WAITERS], void *(*function)(void *))
{
    atomic_store(&next, 0);
    for (long i = 0; i < WAITERS; i++) {
        atomic_store(&tids[i], 0);
        threads[i] = start(function, (void *)i);
        while (semctl(set, 0, GETNCNT) + semctl(set, 0, GETZCNT) != i + 1)
            sched_yield();
    }
}
static void until_noted(int count)
{
    while (atomic_load(&next) < count)
        sched_yield();
}
static void tell_order(int count)
{
    for (int i = 0; i < count; i++)
        printf(" %d", atomic_load(&order[i]));
    printf("\n");
}
/* Of those who run at once it is not said who is the first. */
static void tell_who(int first, int count)
{
    int who = 0;

    for (int i = first; i < count; i++)
        who |= 1 << atomic_load(&order[i]);
    printf("who: %d\n", who);
}
static void handler(int number)
{
    (void)number;
}
static void *interrupted(void *unused)
{
    atomic_store(&tids[0], gettid());
    CALL(operate(0, -1, 0));
    return unused;
}
int main(void)
{
    pthread_t threads[WAITERS], thread;
    struct sembuf both[2] = {{0, 1, 0}, {1, 1, 0}};

    set = (int)MUST(semget(IPC_PRIVATE, 2, IPC_CREAT | 0600));

    /* One at a time: the first that came. */
    begin_in_order(threads, takes);
    for (int i = 0; i < WAITERS; i++) {
        MUST(operate(0, 1, 0));
        until_noted(i + 1);
        SHOW(semctl(set, 0, GETVAL));
        SHOW(semctl(set, 0, GETNCNT));
    }
    tell_order(WAITERS);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);

    /* At once: the value is gone before anybody runs. */
    begin_in_order(threads, takes);
    MUST(operate(0, WAITERS - 1, 0));
    SHOW(semctl(set, 0, GETVAL));
    CALL(operate(0, -1, IPC_NOWAIT));
    SHOW(semctl(set, 0, GETNCNT));
    MUST(operate(0, 1, 0));
    SHOW(semctl(set, 0, GETVAL));
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);

    /* Who fits goes before who came first; then those who wait for zero. */
    CALL(semctl(set, 0, SETVAL, 1));
    begin_in_order(threads, takes_more);
    MUST(semop(set, both, 2));
    until_noted(2);
    tell_who(0, 2);
    SHOW(semctl(set, 0, GETVAL));
    SHOW(semctl(set, 0, GETNCNT));
    CALL(semctl(set, 0, SETVAL, 4));
    until_noted(3);
    tell_who(2, 3);
    SHOW(semctl(set, 0, GETVAL));
    SHOW(semctl(set, 0, GETNCNT));
    MUST(semop(set, both, 2));
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    SHOW(semctl(set, 0, GETVAL));
    SHOW(semctl(set, 1, GETVAL));

    /* A signal ends a wait, and then nothing is taken. */
    on_signal(SIGUSR1, handler, 0);
    atomic_store(&tids[0], 0);
    thread = start(interrupted, NULL);
    while (semctl(set, 0, GETNCNT) != 1)
        sched_yield();
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    MUST(operate(0, 1, 0));
    SHOW(semctl(set, 0, GETVAL));
    CALL(semctl(set, 0, IPC_RMID));
    return 0;
}
