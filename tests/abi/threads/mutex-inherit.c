/* A mutex that inherits priority locks and unlocks between threads. */
#include "abi.h"

static pthread_mutex_t mutex;
static int count;
static void *work(void *argument)
{
    go((int)(long)argument);
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}
int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_t threads[3];
    pthread_mutexattr_init(&attributes);
    CODE(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
    CODE(pthread_mutex_init(&mutex, &attributes));
    for (long i = 0; i < 3; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    SHOW(count);
    return 0;
}
