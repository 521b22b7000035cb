/* pthread_once runs a function once, however many call it. */
#include "abi.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int runs;
static void begin_once(void)
{
    sched_yield();
    runs++;
}
static void *work(void *argument)
{
    pthread_once(&once, begin_once);
    return (void *)(long)(runs == 1 ? 0 : 1 + (argument != NULL));
}
int main(void)
{
    pthread_t threads[8];
    long wrong = 0;
    for (int i = 0; i < 8; i++)
        threads[i] = start(work, NULL);
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (long)result;
    }
    SHOW(wrong);
    SHOW(runs);
    return 0;
}
