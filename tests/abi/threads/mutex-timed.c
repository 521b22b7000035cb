/* pthread_mutex_timedlock gives up at its time. */
#include "abi.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *wait_some(void *argument)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    CODE(pthread_mutex_timedlock(&mutex, &time));
    time.tv_sec += 30;
    CODE(pthread_mutex_timedlock(&mutex, &time));
    time.tv_nsec = -1;
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    thread = start(wait_some, NULL);
    sleep_ms(50);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}
