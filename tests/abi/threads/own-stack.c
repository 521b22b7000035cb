/* A thread can run on a stack that the program gives it. */
#include "abi.h"

static char *stack;
static void *work(void *argument)
{
    char here;
    return (char *)argument + (&here >= stack && &here < stack + 1048576);
}
int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *inside;
    stack = MAP(1048576, MAP_PRIVATE);
    pthread_attr_init(&attributes);
    CODE(pthread_attr_setstack(&attributes, stack, 1048576));
    CODE(pthread_create(&thread, &attributes, work, NULL));
    pthread_join(thread, &inside);
    SHOW(inside);
    return 0;
}
