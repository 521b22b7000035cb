/* Threads on all CPUs count in words of the same page and lose nothing. */
#include "abi.h"

static atomic_long *words;
static void *work(void *argument)
{
    go((int)(long)argument);
    for (int i = 0; i < 2000; i++)
        atomic_fetch_add(&words[i % 8], 1);
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    words = (atomic_long *)MAP(PAGE, MAP_PRIVATE);
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++)
        SHOW(words[i]);
    return 0;
}
