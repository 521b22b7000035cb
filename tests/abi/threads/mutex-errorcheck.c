/* An error-checking mutex tells EDEADLK and EPERM. */
#include "abi.h"

static pthread_mutex_t mutex;
static void *unlock(void *argument)
{
    CODE(pthread_mutex_unlock(&mutex));
    return argument;
}
int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&mutex, &attributes);
    CODE(pthread_mutex_unlock(&mutex));
    CODE(pthread_mutex_lock(&mutex));
    CODE(pthread_mutex_lock(&mutex));
    pthread_join(start(unlock, NULL), NULL);
    CODE(pthread_mutex_unlock(&mutex));
    return 0;
}
