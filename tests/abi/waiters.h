/* Threads of different priorities, each on another CPU if there are so many, that wait for one thing: for programs that
 * show in which order they are served. */
#ifndef TESTS_ABI_WAITERS_H
#define TESTS_ABI_WAITERS_H

#include "abi.h"

#define WAITERS 6
static const int waiter_priorities[WAITERS] = {0, 20, 10, 30, 0, 30};
static pthread_t waiter_threads[WAITERS];
static atomic_int waiter_tids[WAITERS], waiters_served, waiter_order[WAITERS];
static void (*waiter_waits)(int);

/* Waiter I has been served. One is at a time. */
static void served(int i)
{
    atomic_store(&waiter_order[atomic_load(&waiters_served)], i);
    atomic_fetch_add(&waiters_served, 1);
}
static void until_served(int count)
{
    while (atomic_load(&waiters_served) < count)
        sched_yield();
}
static void *be_waiter(void *argument)
{
    int i = (int)(long)argument, priority = waiter_priorities[i];
    struct sched_param parameters = {.sched_priority = priority};

    go(i);
    MUST(syscall(SYS_sched_setscheduler, 0, priority > 0 ? SCHED_FIFO : SCHED_OTHER, &parameters));
    atomic_store(&waiter_tids[i], gettid());
    waiter_waits(i);
    return NULL;
}
/* THREAD of PROCESS waits: it may do so elsewhere on its way, for memory, say. So it is asleep several times. */
static void until_waits(pid_t process, pid_t thread)
{
    for (int i = 0; i < 4; i++) {
        sleep_ms(10);
        until_asleep(process, thread);
    }
}
/* The waiters begin to wait, one after the other: each by WAITS(I), which calls served(I) when it has been served. */
static void all_wait(void (*waits)(int))
{
    waiter_waits = waits;
    atomic_store(&waiters_served, 0);
    for (long i = 0; i < WAITERS; i++) {
        atomic_store(&waiter_tids[i], 0);
        waiter_threads[i] = start(be_waiter, (void *)i);
        while (atomic_load(&waiter_tids[i]) == 0)
            sched_yield();
        until_waits(getpid(), atomic_load(&waiter_tids[i]));
    }
}
/* The waiters end; prints in which order they have been served. */
static void tell_order(const char *what)
{
    for (int i = 0; i < WAITERS; i++)
        pthread_join(waiter_threads[i], NULL);
    printf("%s:", what);
    for (int i = 0; i < WAITERS; i++)
        printf(" %d", atomic_load(&waiter_order[i]));
    printf("\n");
}

#endif
