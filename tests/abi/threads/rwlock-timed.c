/* Timed read and write locks give up at their time. */
#include "abi.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static void *try(void *argument)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    CODE(pthread_rwlock_timedrdlock(&lock, &time));
    CODE(pthread_rwlock_timedwrlock(&lock, &time));
    return argument;
}
int main(void)
{
    pthread_rwlock_wrlock(&lock);
    pthread_join(start(try, NULL), NULL);
    return 0;
}
