/* A cancelled thread ends at its next cancellation point, its handlers in order. */
#include "abi.h"

static pthread_barrier_t barrier;
static void clean(void *argument)
{
    printf("clean %ld\n", (long)argument);
}
static void *work(void *argument)
{
    pthread_cleanup_push(clean, (void *)1);
    pthread_cleanup_push(clean, (void *)2);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    printf("still here\n");
    pthread_testcancel();
    printf("not here\n");
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return argument;
}
int main(void)
{
    void *result;
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    thread = start(work, NULL);
    pthread_barrier_wait(&barrier);
    CODE(pthread_cancel(thread));
    pthread_barrier_wait(&barrier);
    pthread_join(thread, &result);
    SHOW(result == PTHREAD_CANCELED);
    return 0;
}
