/* A thread that has disabled cancellation ends only when it enables it. */
#include "abi.h"

static pthread_barrier_t barrier;
static void *work(void *argument)
{
    int old;
    CODE(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    SHOW(old == PTHREAD_CANCEL_ENABLE);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    pthread_testcancel();
    printf("disabled\n");
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    printf("not here\n");
    return argument;
}
int main(void)
{
    void *result;
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    thread = start(work, NULL);
    pthread_barrier_wait(&barrier);
    pthread_cancel(thread);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, &result);
    SHOW(result == PTHREAD_CANCELED);
    return 0;
}
