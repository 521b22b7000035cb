/* A locked mutex is busy for others, free after unlock. */
#include "abi.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *try(void *argument)
{
    if (CODE(pthread_mutex_trylock(&mutex)) == 0)
        pthread_mutex_unlock(&mutex);
    return argument;
}
int main(void)
{
    CODE(pthread_mutex_lock(&mutex));
    CODE(pthread_mutex_trylock(&mutex));
    pthread_join(start(try, NULL), NULL);
    CODE(pthread_mutex_unlock(&mutex));
    pthread_join(start(try, NULL), NULL);
    CODE(pthread_mutex_destroy(&mutex));
    return 0;
}
