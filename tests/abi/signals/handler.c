/* A handler runs before kill of oneself returns. */
#include "abi.h"

static void handler(int n)
{
    say("handler\n");
    if (n != SIGUSR1)
        say("of another signal\n");
}
int main(void)
{
    on_signal(SIGUSR1, handler, 0);
    CALL(kill(getpid(), SIGUSR1));
    CALL(raise(SIGUSR1));
    return 0;
}
