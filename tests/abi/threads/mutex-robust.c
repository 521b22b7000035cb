/* The next owner of a robust mutex hears that the last one died. */
#include "abi.h"

static pthread_mutex_t mutex;
static void *die(void *argument)
{
    pthread_mutex_lock(&mutex);
    return argument;
}
int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    CODE(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    pthread_mutex_init(&mutex, &attributes);
    pthread_join(start(die, NULL), NULL);
    CODE(pthread_mutex_lock(&mutex));
    CODE(pthread_mutex_consistent(&mutex));
    CODE(pthread_mutex_unlock(&mutex));
    pthread_join(start(die, NULL), NULL);
    CODE(pthread_mutex_lock(&mutex));
    CODE(pthread_mutex_unlock(&mutex));
    CODE(pthread_mutex_lock(&mutex));
    return 0;
}
