/* Producers and consumers on all CPUs pass every number once. */
#include "abi.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int queue[4], head, tail;
static long sum;
static void *produce(void *argument)
{
    go((int)(long)argument);
    for (int i = 1; i <= 100; i++) {
        pthread_mutex_lock(&mutex);
        while (head - tail == 4)
            pthread_cond_wait(&emptied, &mutex);
        queue[head++ % 4] = i;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}
static void *consume(void *argument)
{
    go((int)(long)argument + 2);
    for (int i = 1; i <= 100; i++) {
        pthread_mutex_lock(&mutex);
        while (head == tail)
            pthread_cond_wait(&filled, &mutex);
        sum += queue[tail++ % 4];
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        threads[i] = start(i < 2 ? produce : consume, (void *)(i % 2));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    SHOW(sum);
    return 0;
}
