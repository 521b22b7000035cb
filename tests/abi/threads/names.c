/* A thread has a name of its own, of at most 15 bytes. */
#include "abi.h"

static void *work(void *argument)
{
    char name[16];
    CODE(pthread_getname_np(pthread_self(), name, sizeof(name)));
    CODE(pthread_setname_np(pthread_self(), "worker"));
    CODE(pthread_getname_np(pthread_self(), name, sizeof(name)));
    TEXT(name);
    CODE(pthread_setname_np(pthread_self(), "a name much too long"));
    return argument;
}
int main(void)
{
    char name[16];
    pthread_setname_np(pthread_self(), "chief");
    pthread_join(start(work, NULL), NULL);
    CODE(pthread_getname_np(pthread_self(), name, sizeof(name)));
    TEXT(name);
    return 0;
}
