/* A thread's result comes to the one that joins it. */
#include "abi.h"

static void *work(void *argument)
{
    return (char *)argument + 1;
}
int main(void)
{
    void *result = NULL;
    CODE(pthread_join(start(work, (void *)41), &result));
    SHOW(result);
    return 0;
}
