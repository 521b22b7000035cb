/* Threads allocate and free blocks of each other. */
#include "abi.h"

static void *blocks[4][1000];
static pthread_barrier_t barrier;
static void *work(void *argument)
{
    long me = (long)argument;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 1000; i++) {
            blocks[me][i] = malloc((size_t)(i % 300 + 8));
            *(long *)blocks[me][i] = me * 1000 + i;
        }
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 1000; i++) {
            if (*(long *)blocks[(me + 1) % 4][i] != (me + 1) % 4 * 1000 + i)
                return (void *)1;
            free(blocks[(me + 1) % 4][i]);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    pthread_barrier_init(&barrier, NULL, 4);
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        SHOW(result);
    }
    return 0;
}
