/* A recursive mutex is locked as often as it is unlocked. */
#include "abi.h"

static pthread_mutex_t mutex;
static void *try(void *argument)
{
    if (CODE(pthread_mutex_trylock(&mutex)) == 0)
        pthread_mutex_unlock(&mutex);
    return argument;
}
int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &attributes);
    CODE(pthread_mutex_lock(&mutex));
    CODE(pthread_mutex_lock(&mutex));
    CODE(pthread_mutex_unlock(&mutex));
    pthread_join(start(try, NULL), NULL);
    CODE(pthread_mutex_unlock(&mutex));
    pthread_join(start(try, NULL), NULL);
    CODE(pthread_mutex_unlock(&mutex));
    return 0;
}
