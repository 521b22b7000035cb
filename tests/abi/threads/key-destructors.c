/* Destructors of keys run at a thread's end, again while they set values. */
#include "abi.h"

static pthread_key_t key;
static int rounds;
static void destroy(void *value)
{
    printf("destroy %ld\n", (long)value);
    if (++rounds < 3)
        pthread_setspecific(key, (char *)value + 1);
}
static void *work(void *argument)
{
    pthread_setspecific(key, argument);
    SHOW(pthread_getspecific(key));
    return NULL;
}
int main(void)
{
    CODE(pthread_key_create(&key, destroy));
    SHOW(pthread_getspecific(key));
    pthread_join(start(work, (void *)10), NULL);
    CODE(pthread_key_delete(key));
    return 0;
}
