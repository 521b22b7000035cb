/* poll wakes when a thread on another CPU writes. */
#include "abi.h"

static int fds[2];
static void *work(void *argument)
{
    go(1);
    sleep_ms(30);
    MUST(write(fds[1], "x", 1));
    return argument;
}
int main(void)
{
    struct pollfd list[2];
    int none[2];
    MUST(pipe(fds));
    MUST(pipe(none));
    pthread_t thread = start(work, NULL);
    list[0] = (struct pollfd){none[0], POLLIN, 0};
    list[1] = (struct pollfd){fds[0], POLLIN, 0};
    CALL(poll(list, 2, 30000));
    printf("%x %x\n", list[0].revents, list[1].revents);
    pthread_join(thread, NULL);
    return 0;
}
