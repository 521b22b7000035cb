/* One thread of each barrier round is the serial one, and none runs ahead. */
#include "abi.h"

static pthread_barrier_t barrier;
static atomic_int serial, arrived, wrong;
static void *work(void *argument)
{
    go((int)(long)argument);
    for (int i = 0; i < 20; i++) {
        arrived++;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            serial++;
        if (arrived < (i + 1) * 4)
            wrong++;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    CODE(pthread_barrier_init(&barrier, NULL, 4));
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d %d %d\n", serial, arrived, wrong);
    CODE(pthread_barrier_destroy(&barrier));
    return 0;
}
