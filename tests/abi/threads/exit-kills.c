/* exit of one thread ends all others, wherever they are. */
#include "abi.h"

static pthread_barrier_t barrier;
static void *spin(void *argument)
{
    go((int)(long)argument);
    pthread_barrier_wait(&barrier);
    for (;;)
        __asm__ volatile("pause");
}
static void *leave(void *argument)
{
    pthread_barrier_wait(&barrier);
    printf("leaving\n");
    exit((int)(long)argument);
}
int main(void)
{
    pthread_barrier_init(&barrier, NULL, 4);
    start(spin, (void *)1);
    start(spin, (void *)2);
    start(leave, (void *)9);
    pthread_barrier_wait(&barrier);
    for (;;)
        pause();
}
