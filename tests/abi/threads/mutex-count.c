/* Threads on all CPUs that count under a mutex lose nothing. */
#include "abi.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count;
static void *work(void *argument)
{
    go((int)(long)argument);
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    SHOW(count);
    return 0;
}
