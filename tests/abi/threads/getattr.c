/* pthread_getattr_np knows the stack of a thread and of the main thread. */
#include "abi.h"

static void look(const char *who)
{
    pthread_attr_t attributes;
    void *from;
    size_t size = 0;
    char here;
    printf("%s: ", who);
    if (CODE(pthread_getattr_np(pthread_self(), &attributes)) != 0)
        return;
    pthread_attr_getstack(&attributes, &from, &size);
    printf("inside %d\n", &here > (char *)from && &here < (char *)from + size);
}
static void *work(void *argument)
{
    look("thread");
    return argument;
}
int main(void)
{
    look("main");
    pthread_join(start(work, NULL), NULL);
    return 0;
}
