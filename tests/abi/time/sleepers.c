/* Threads that sleep different times wake in their order, unless a CPU is late. */
#include "abi.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int order[4], count;
static int64_t begun;
static void *work(void *argument)
{
    long me = (long)argument;
    int64_t end = begun + (me + 1) * 150000000;
    struct timespec time = {end / 1000000000, end % 1000000000};
    go((int)me);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    pthread_mutex_lock(&mutex);
    order[count++] = (int)me;
    pthread_mutex_unlock(&mutex);
    return NULL;
}
int main(void)
{
    static const int right[4] = {0, 1, 2, 3};
    pthread_t threads[4];
    for (int attempt = 0; attempt < 4 && memcmp(order, right, sizeof(right)) != 0; attempt++) {
        count = 0;
        begun = now(CLOCK_MONOTONIC);
        for (long i = 3; i >= 0; i--)
            threads[i] = start(work, (void *)i);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
    printf("%d %d %d %d\n", order[0], order[1], order[2], order[3]);
    return 0;
}
