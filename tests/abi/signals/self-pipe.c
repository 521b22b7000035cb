/* A handler that writes to a pipe wakes poll in the same thread. */
#include "abi.h"

static int channel[2];
static volatile sig_atomic_t ran;
static void handler(int n)
{
    MUST(write(channel[1], "s", 1));
    ran = n;
}
int main(void)
{
    struct pollfd source;
    MUST(pipe(channel));
    on_signal(SIGALRM, handler, 0);
    alarms(30);
    source = (struct pollfd){.fd = channel[0], .events = POLLIN};
    while (!ran) /* interrupted, or already too late */
        poll(&source, 1, 30000);
    alarms(0);
    CALL(poll(&source, 1, 30000));
    SHOW(source.revents == POLLIN);
    return 0;
}
