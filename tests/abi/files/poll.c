/* poll tells what is ready: pipes, closed ends, bad descriptors, its time. */
#include "abi.h"

int main(void)
{
    int a[2], b[2];
    int64_t begun;
    MUST(pipe(a));
    MUST(pipe(b));
    MUST(write(a[1], "x", 1));
    close(b[1]);
    struct pollfd list[6] = {{a[0], POLLIN, 0}, {a[1], POLLOUT, 0}, {b[0], POLLIN, 0},
                             {99, POLLIN, 0},   {-1, POLLIN, 5},    {a[0], 0, 0}};
    CALL(poll(list, 6, 0));
    for (int i = 0; i < 6; i++)
        printf("%x ", list[i].revents);
    printf("\n");
    begun = now(CLOCK_MONOTONIC);
    list[0].fd = -1;
    CALL(poll(list, 1, 30));
    SHOW(now(CLOCK_MONOTONIC) - begun >= 30000000);
    close(a[0]);
    list[0] = (struct pollfd){a[1], POLLOUT, 0};
    CALL(poll(list, 1, 0));
    printf("%x\n", list[0].revents);
    CALL(poll((struct pollfd *)8, 1, 0));
    return 0;
}
