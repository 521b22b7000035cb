/* Cancelling a thread that waits in read ends it. */
#include "abi.h"

static int channel[2];
static void *work(void *argument)
{
    char byte;
    MUST(read(channel[0], &byte, 1));
    return argument;
}
int main(void)
{
    void *result;
    pthread_t thread;
    MUST(pipe(channel));
    thread = start(work, NULL);
    sleep_ms(30);
    CODE(pthread_cancel(thread));
    pthread_join(thread, &result);
    SHOW(result == PTHREAD_CANCELED);
    return 0;
}
