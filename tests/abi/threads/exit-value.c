/* pthread_exit gives a result from any depth. */
#include "abi.h"

static void leave(int depth)
{
    if (depth == 0)
        pthread_exit((void *)77);
    leave(depth - 1);
}
static void *work(void *argument)
{
    leave(10);
    return argument;
}
int main(void)
{
    void *result = NULL;
    pthread_join(start(work, NULL), &result);
    SHOW(result);
    return 0;
}
