/* A spin lock excludes threads of different CPUs. */
#include "abi.h"

static pthread_spinlock_t lock;
static long count;
static void *work(void *argument)
{
    go((int)(long)argument);
    for (int i = 0; i < 200; i++) {
        pthread_spin_lock(&lock);
        count++;
        pthread_spin_unlock(&lock);
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[3];
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_lock(&lock);
    CODE(pthread_spin_trylock(&lock));
    pthread_spin_unlock(&lock);
    for (long i = 0; i < 3; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    SHOW(count);
    return 0;
}
