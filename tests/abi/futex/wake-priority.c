/* Waiters of higher real-time priority wake first; those of one priority, and those without, in their order. */
#include "abi.h"

static int word, other;
static atomic_int order;
static int got[8];
static const int priorities[] = {0, 0, 10, 30, 20, 30};
#define WAITERS 6

static void *wait_once(void *argument)
{
    long i = (long)argument;
    struct sched_param parameters = {.sched_priority = priorities[i]};

    go(1);
    MUST(syscall(SYS_sched_setscheduler, 0, priorities[i] > 0 ? SCHED_FIFO : SCHED_OTHER, &parameters));
    while (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL) == -1 && errno == EINTR) {
    }
    got[atomic_fetch_add(&order, 1)] = (int)i;
    return NULL;
}
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *lock_once(void *argument)
{
    long i = (long)argument;
    struct sched_param parameters = {.sched_priority = priorities[i]};

    go(1);
    MUST(syscall(SYS_sched_setscheduler, 0, priorities[i] > 0 ? SCHED_FIFO : SCHED_OTHER, &parameters));
    pthread_mutex_lock(&mutex);
    got[atomic_fetch_add(&order, 1)] = (int)i;
    pthread_mutex_unlock(&mutex);
    return NULL;
}
static pid_t tid_of[WAITERS];
static void *(*what)(void *);
static void *begin_waiter(void *argument)
{
    __atomic_store_n(&tid_of[(long)argument], gettid(), __ATOMIC_RELEASE);
    return what(argument);
}
static void all_wait(pthread_t threads[], void *(*function)(void *))
{
    what = function;
    atomic_store(&order, 0);
    memset(tid_of, 0, sizeof(tid_of));
    for (long i = 0; i < WAITERS; i++) {
        threads[i] = start(begin_waiter, (void *)i);
        while (__atomic_load_n(&tid_of[i], __ATOMIC_ACQUIRE) == 0)
            sched_yield();
        /* The thread may wait elsewhere on its way: for a move, for memory. So it is asleep thrice. */
        for (int j = 0; j < 3; j++) {
            sleep_ms(5);
            until_asleep(getpid(), tid_of[i]);
        }
    }
}
static void tell(void)
{
    printf("order");
    for (int i = 0; i < WAITERS; i++)
        printf(" %d", got[i]);
    printf("\n");
}
int main(void)
{
    pthread_t threads[WAITERS];

    all_wait(threads, wait_once);
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1));
        while (atomic_load(&order) <= i)
            sched_yield();
    }
    tell();
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);

    /* A requeue keeps the order of priorities. */
    all_wait(threads, wait_once);
    CALL(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 3, &other, 0));
    while (atomic_load(&order) < 1)
        sched_yield();
    for (int i = 1; i < WAITERS; i++) {
        if (syscall(SYS_futex, &other, FUTEX_WAKE_PRIVATE, 1) == 0)
            MUST(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1));
        while (atomic_load(&order) <= i)
            sched_yield();
    }
    tell();
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);

    pthread_mutex_lock(&mutex);
    all_wait(threads, lock_once);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    tell();
    return 0;
}
