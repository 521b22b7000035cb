/* A thread of SCHED_FIFO that is woken, made or given a higher priority runs before its waker goes on. */
#include "abi.h"

static sem_t semaphore;
static atomic_int steps;

static void *waits(void *unused)
{
    atomic_store(&steps, 1);
    MUST(sem_wait(&semaphore));
    atomic_store(&steps, 2);
    return unused;
}
static void *told(void *unused)
{
    atomic_fetch_add(&steps, 10);
    return unused;
}
static void *raised(void *unused)
{
    atomic_store(&steps, 50);
    return unused;
}
static pthread_t fifo(void *(*function)(void *), int priority)
{
    struct sched_param parameters = {.sched_priority = priority};
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameters);
    CODE(pthread_create(&thread, &attributes, function, NULL));
    return thread;
}
static int shown(void)
{
    struct sched_param parameters = {.sched_priority = 20};
    pthread_t thread;
    pid_t process;
    int status;

    MUST(sem_init(&semaphore, 0, 0));
    MUST(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameters));
    thread = fifo(waits, 30);
    SHOW(steps);
    MUST(sem_post(&semaphore));
    SHOW(steps);
    pthread_join(thread, NULL);

    /* Those of lower priority may run only while this thread waits; raised, or when this one is lowered, at once. */
    thread = fifo(raised, 10);
    (void)pthread_setschedprio(thread, 40);
    SHOW(steps);
    pthread_join(thread, NULL);
    thread = fifo(told, 15);
    parameters.sched_priority = 5;
    MUST(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameters));
    SHOW(steps);
    pthread_join(thread, NULL);

    /* A child has the policy and the priority, too. */
    fflush(stdout);
    process = fork();
    if (process == 0)
        _exit((int)syscall(SYS_sched_getscheduler, 0));
    MUST(waitpid(process, &status, 0));
    tell_status(status);
    return 0;
}

/* All on one CPU: elsewhere, waking a thread may take longer than the call. */
int main(void)
{
    reap(spawn_here(shown));
    return 0;
}
