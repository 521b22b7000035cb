/* A thread moves over all CPUs while others wake it. */
#include "abi.h"

static sem_t turn[2];
static void *work(void *argument)
{
    for (int i = 0; i < 40; i++) {
        go(i);
        sem_wait(&turn[0]);
        sem_post(&turn[1]);
    }
    return argument;
}
int main(void)
{
    pthread_t thread;
    sem_init(&turn[0], 0, 0);
    sem_init(&turn[1], 0, 0);
    thread = start(work, NULL);
    for (int i = 0; i < 40; i++) {
        sem_post(&turn[0]);
        sem_wait(&turn[1]);
    }
    CODE(pthread_join(thread, NULL));
    return 0;
}
