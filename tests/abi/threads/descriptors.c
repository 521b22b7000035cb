/* Threads share descriptors: what one opens another reads, and closed is closed. */
#include "abi.h"

static int channel[2];
static void *work(void *argument)
{
    char text[8] = "";
    go(1);
    MUST(read(channel[0], text, 5));
    TEXT(text);
    CALL(close(channel[0]));
    return argument;
}
int main(void)
{
    pthread_t thread;
    MUST(pipe(channel));
    thread = start(work, NULL);
    MUST(write(channel[1], "hello", 5));
    pthread_join(thread, NULL);
    CALL(fcntl(channel[0], F_GETFD));
    signal(SIGPIPE, SIG_IGN);
    CALL(write(channel[1], "x", 1));
    return 0;
}
