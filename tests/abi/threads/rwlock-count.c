/* Writers on all CPUs exclude each other and readers. */
#include "abi.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long a, b, wrong;
static void *work(void *argument)
{
    go((int)(long)argument);
    for (int i = 0; i < 200; i++) {
        if (i % 4 == 0) {
            pthread_rwlock_wrlock(&lock);
            a++;
            b++;
        } else {
            pthread_rwlock_rdlock(&lock);
            if (a != b)
                wrong++;
        }
        pthread_rwlock_unlock(&lock);
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
    printf("%ld %ld %ld\n", a, b, wrong);
    return 0;
}
