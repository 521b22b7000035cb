/* Stack size and guard size of a thread are what was asked for. */
#include "abi.h"

static void *work(void *argument)
{
    volatile char bytes[200000];
    bytes[0] = 1;
    bytes[199999] = 2;
    return (char *)argument + bytes[0] + bytes[199999];
}
int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *result;
    size_t size;
    pthread_attr_init(&attributes);
    CODE(pthread_attr_setstacksize(&attributes, 1 << 20));
    CODE(pthread_attr_setguardsize(&attributes, 65536));
    pthread_attr_getstacksize(&attributes, &size);
    SHOW(size);
    pthread_attr_getguardsize(&attributes, &size);
    SHOW(size);
    CODE(pthread_attr_setstacksize(&attributes, 100));
    CODE(pthread_create(&thread, &attributes, work, NULL));
    pthread_join(thread, &result);
    SHOW(result);
    return 0;
}
