/* A signal wakes one waiter, a broadcast all. */
#include "abi.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, back = PTHREAD_COND_INITIALIZER;
static int waiting, tickets, woken;
static void *work(void *argument)
{
    pthread_mutex_lock(&mutex);
    waiting++;
    pthread_cond_signal(&back);
    while (tickets == 0)
        pthread_cond_wait(&cond, &mutex);
    tickets--;
    woken++;
    pthread_cond_signal(&back);
    pthread_mutex_unlock(&mutex);
    return argument;
}
int main(void)
{
    pthread_t threads[5];
    for (int i = 0; i < 5; i++)
        threads[i] = start(work, NULL);
    pthread_mutex_lock(&mutex);
    while (waiting < 5)
        pthread_cond_wait(&back, &mutex);
    tickets = 1;
    pthread_cond_signal(&cond);
    while (woken < 1)
        pthread_cond_wait(&back, &mutex);
    SHOW(woken);
    tickets = 4;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    SHOW(woken);
    return 0;
}
