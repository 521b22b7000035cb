/* Writes of up to PIPE_BUF bytes of several processes do not mix. */
#include "abi.h"

static int fds[2], number;
static int child(void)
{
    char bytes[512];
    go(number);
    memset(bytes, 'a' + number, sizeof(bytes));
    close(fds[0]);
    for (int i = 0; i < 40; i++)
        MUST(write(fds[1], bytes, sizeof(bytes)));
    return 0;
}
int main(void)
{
    char bytes[512];
    long wrong = 0, records = 0;
    MUST(pipe(fds));
    for (number = 0; number < 3; number++)
        spawn(child);
    close(fds[1]);
    for (;;) {
        size_t have = 0;
        for (ssize_t n; have < 512 && (n = read(fds[0], bytes + have, 512 - have)) > 0;)
            have += (size_t)n;
        if (have < 512)
            break;
        records++;
        for (int i = 1; i < 512; i++)
            wrong += bytes[i] != bytes[0];
    }
    SHOW(records);
    SHOW(wrong);
    return 0;
}
