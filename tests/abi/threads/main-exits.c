/* When the main thread ends by pthread_exit, the others go on, and the last one's end is the process's. */
#include "abi.h"

static pthread_t chief;
static void *work(void *argument)
{
    CODE(pthread_join(chief, NULL));
    printf("the last one\n");
    return argument;
}
int main(void)
{
    chief = pthread_self();
    start(work, NULL);
    pthread_exit((void *)5);
}
