/* 300 threads one after another, joined at once. */
#include "abi.h"

static void *work(void *argument)
{
    return (char *)argument + 1;
}
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 300; i++) {
        void *result;
        pthread_join(start(work, (void *)i), &result);
        sum += (long)result;
    }
    SHOW(sum);
    return 0;
}
