/* Readers share a lock, a writer has it alone. */
#include "abi.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static void *try(void *argument)
{
    if (CODE(pthread_rwlock_tryrdlock(&lock)) == 0)
        pthread_rwlock_unlock(&lock);
    if (CODE(pthread_rwlock_trywrlock(&lock)) == 0)
        pthread_rwlock_unlock(&lock);
    return argument;
}
int main(void)
{
    pthread_join(start(try, NULL), NULL);
    CODE(pthread_rwlock_rdlock(&lock));
    pthread_join(start(try, NULL), NULL);
    CODE(pthread_rwlock_unlock(&lock));
    CODE(pthread_rwlock_wrlock(&lock));
    pthread_join(start(try, NULL), NULL);
    CODE(pthread_rwlock_unlock(&lock));
    return 0;
}
