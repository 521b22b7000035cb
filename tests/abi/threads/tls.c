/* Thread-local variables begin with their values in each thread. */
#include "abi.h"

static __thread int value = 5, zero;
static void *work(void *argument)
{
    for (int i = 0; i < 1000; i++)
        value++, zero += 2;
    printf("thread %ld: %d %d\n", (long)argument, value, zero);
    return NULL;
}
int main(void)
{
    for (long i = 0; i < 3; i++)
        pthread_join(start(work, (void *)i), NULL);
    printf("main: %d %d\n", value, zero);
    return 0;
}
