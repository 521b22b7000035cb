/* Signals of sa_mask wait until the handler returns. */
#include "abi.h"

static void other(int n)
{
    say(n == SIGUSR2 ? "other\n" : "?\n");
}
static void handler(int n)
{
    say("begin\n");
    raise(SIGUSR2);
    say(n == SIGUSR1 ? "end\n" : "?\n");
}
int main(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_mask = set_of(SIGUSR2)};
    on_signal(SIGUSR2, other, 0);
    MUST(sigaction(SIGUSR1, &action, NULL));
    raise(SIGUSR1);
    action.sa_mask = set_of(0);
    MUST(sigaction(SIGUSR1, &action, NULL));
    raise(SIGUSR1);
    return 0;
}
