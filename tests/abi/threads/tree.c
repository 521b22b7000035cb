/* Threads that make threads that make threads. */
#include "abi.h"

static void *work(void *argument)
{
    long depth = (long)argument;
    pthread_t threads[2];
    long sum = 1;
    for (int i = 0; depth > 0 && i < 2; i++)
        threads[i] = start(work, (void *)(depth - 1));
    for (int i = 0; depth > 0 && i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    return (void *)sum;
}
int main(void)
{
    SHOW(work((void *)5));
    return 0;
}
