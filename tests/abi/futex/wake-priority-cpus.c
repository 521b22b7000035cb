/* Semaphores, mutexes and futexes wake waiters of higher real-time priority first, on whichever CPUs these wait. */
#include "abi.h"

#define WAITERS 6
static const int priorities[WAITERS] = {0, 20, 10, 30, 0, 30};
static sem_t *semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int word;
static atomic_int order, got[WAITERS], tids[WAITERS];
static void (*wait_for_it)(void);

static void of_semaphore(void)
{
    MUST(sem_wait(semaphore));
}
static void of_futex(void)
{
    while (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL) == -1 && errno == EINTR) {
    }
}
static void of_mutex(void)
{
    pthread_mutex_lock(&mutex);
}
static void *waits(void *argument)
{
    int i = (int)(long)argument;
    struct sched_param parameters = {.sched_priority = priorities[i]};

    go(i);
    MUST(syscall(SYS_sched_setscheduler, 0, priorities[i] > 0 ? SCHED_FIFO : SCHED_OTHER, &parameters));
    atomic_store(&tids[i], gettid());
    wait_for_it();
    atomic_store(&got[atomic_load(&order)], i); /* one runs at a time */
    atomic_fetch_add(&order, 1);
    if (wait_for_it == of_mutex)
        pthread_mutex_unlock(&mutex);
    return NULL;
}
static void all_wait(pthread_t threads[WAITERS], void (*function)(void))
{
    wait_for_it = function;
    atomic_store(&order, 0);
    for (long i = 0; i < WAITERS; i++) {
        atomic_store(&tids[i], 0);
        threads[i] = start(waits, (void *)i);
        while (atomic_load(&tids[i]) == 0)
            sched_yield();
        /* The thread may wait elsewhere on its way, for memory, say. So it is asleep several times. */
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
static void until_ordered(int count)
{
    while (atomic_load(&order) < count)
        sched_yield();
}
static void post_all(const char *what, int shared)
{
    pthread_t threads[WAITERS];

    MUST(sem_init(semaphore, shared, 0));
    all_wait(threads, of_semaphore);
    for (int i = 0; i < WAITERS; i++) {
        MUST(sem_post(semaphore));
        until_ordered(i + 1);
    }
    tell(what, threads);
}
int main(void)
{
    pthread_t threads[WAITERS];

    semaphore = (sem_t *)(void *)MAP(PAGE, MAP_SHARED);
    post_all("semaphore", 0);
    post_all("shared semaphore", 1);
    all_wait(threads, of_futex);
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1));
        until_ordered(i + 1);
    }
    tell("futex", threads);
    pthread_mutex_lock(&mutex);
    all_wait(threads, of_mutex);
    pthread_mutex_unlock(&mutex);
    tell("mutex", threads);
    return 0;
}
