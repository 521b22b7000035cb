/* A thread that is cancelled in pthread_cond_wait has its mutex again in its handler. */
#include "abi.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void clean(void *argument)
{
    printf("clean %d\n", pthread_mutex_trylock(&mutex) == EBUSY);
    pthread_mutex_unlock(argument);
}
static void *work(void *argument)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean, &mutex);
    for (;;)
        pthread_cond_wait(&cond, &mutex);
    pthread_cleanup_pop(1);
    return argument;
}
int main(void)
{
    void *result;
    pthread_t thread = start(work, NULL);
    sleep_ms(30);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    SHOW(result == PTHREAD_CANCELED);
    CODE(pthread_mutex_trylock(&mutex));
    return 0;
}
