/* A detached thread cannot be joined. */
#include "abi.h"

static sem_t done;
static void *work(void *argument)
{
    sem_wait(&done);
    return argument;
}
int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int state;
    sem_init(&done, 0, 0);
    pthread_attr_init(&attributes);
    CODE(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED));
    pthread_attr_getdetachstate(&attributes, &state);
    SHOW(state == PTHREAD_CREATE_DETACHED);
    CODE(pthread_create(&thread, &attributes, work, NULL));
    sem_post(&done);
    thread = start(work, NULL);
    CODE(pthread_detach(thread));
    sem_post(&done);
    return 0;
}
