/* A semaphore counts; its waits can be tried and timed. */
#include "abi.h"

static sem_t sem;
static void *post(void *argument)
{
    sem_post(&sem);
    return argument;
}
int main(void)
{
    struct timespec time;
    int value;
    CALL(sem_init(&sem, 0, 2));
    CALL(sem_wait(&sem));
    CALL(sem_trywait(&sem));
    CALL(sem_trywait(&sem));
    clock_gettime(CLOCK_REALTIME, &time);
    CALL(sem_timedwait(&sem, &time));
    pthread_t thread = start(post, NULL);
    CALL(sem_wait(&sem));
    pthread_join(thread, NULL);
    sem_post(&sem);
    sem_getvalue(&sem, &value);
    SHOW(value);
    CALL(sem_destroy(&sem));
    return 0;
}
