/* 100 children at a time. */
#include "abi.h"

static int channel[2];
static int child(void)
{
    char byte;
    MUST(read(channel[0], &byte, 1));
    return 1;
}
int main(void)
{
    int sum = 0, status;
    MUST(pipe(channel));
    for (int i = 0; i < 100; i++)
        spawn(child);
    for (int i = 0; i < 100; i++)
        MUST(write(channel[1], "x", 1));
    for (int i = 0; i < 100; i++) {
        MUST(wait(&status));
        sum += WEXITSTATUS(status);
    }
    SHOW(sum);
    return 0;
}
