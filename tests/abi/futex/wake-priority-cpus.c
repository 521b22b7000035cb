/* Semaphores, mutexes and futexes wake waiters of higher real-time priority first, on whichever CPUs these wait. */
#include "waiters.h"

static sem_t *semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int word;

static void of_semaphore(int i)
{
    MUST(sem_wait(semaphore));
    served(i);
}
static void of_futex(int i)
{
    while (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL) == -1 && errno == EINTR) {
    }
    served(i);
}
static void of_mutex(int i)
{
    pthread_mutex_lock(&mutex);
    served(i);
    pthread_mutex_unlock(&mutex);
}
static void post_all(const char *what, int shared)
{
    MUST(sem_init(semaphore, shared, 0));
    all_wait(of_semaphore);
    for (int i = 0; i < WAITERS; i++) {
        MUST(sem_post(semaphore));
        until_served(i + 1);
    }
    tell_order(what);
}
int main(void)
{
    semaphore = (sem_t *)(void *)MAP(PAGE, MAP_SHARED);
    post_all("semaphore", 0);
    post_all("shared semaphore", 1);
    all_wait(of_futex);
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1));
        until_served(i + 1);
    }
    tell_order("futex");
    pthread_mutex_lock(&mutex);
    all_wait(of_mutex);
    pthread_mutex_unlock(&mutex);
    tell_order("mutex");
    return 0;
}
