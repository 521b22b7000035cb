/* A large thread-local array is each thread's own. */
#include "abi.h"

static __thread char bytes[100000];
static void *work(void *argument)
{
    long sum = 0;
    for (size_t i = 0; i < sizeof(bytes); i++)
        sum += bytes[i];
    memset(bytes, (int)(long)argument, sizeof(bytes));
    return (void *)(sum + bytes[99999]);
}
int main(void)
{
    for (long i = 1; i < 4; i++) {
        void *result;
        pthread_join(start(work, (void *)i), &result);
        SHOW(result);
    }
    SHOW(bytes[0]);
    return 0;
}
