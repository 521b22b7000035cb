/* 100 threads at a time. */
#include "abi.h"

static pthread_barrier_t barrier;
static atomic_long sum;
static void *work(void *argument)
{
    pthread_barrier_wait(&barrier);
    sum += (long)argument;
    return argument;
}
int main(void)
{
    static pthread_t threads[100];
    pthread_barrier_init(&barrier, NULL, 101);
    for (long i = 0; i < 100; i++)
        threads[i] = start(work, (void *)i);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 100; i++)
        pthread_join(threads[i], NULL);
    SHOW(sum);
    return 0;
}
