/* A thread's fault without handler ends the whole process. */
#include "abi.h"

static void *work(void *argument)
{
    volatile char *volatile a = NULL;
    go(1);
    a[0] = 1;
    return argument;
}
int main(void)
{
    start(work, NULL);
    for (;;)
        pause();
}
