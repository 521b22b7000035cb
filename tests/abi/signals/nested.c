/* Handlers of different signals nest and return in turn. */
#include "abi.h"

static void inner(int n)
{
    say(n == SIGUSR2 ? "  inner\n" : "?\n");
}
static void middle(int n)
{
    say(" middle\n");
    raise(SIGUSR2);
    say(n == SIGUSR1 ? " middle again\n" : "?\n");
}
static void outer(int n)
{
    say("outer\n");
    raise(SIGUSR1);
    say(n == SIGHUP ? "outer again\n" : "?\n");
}
int main(void)
{
    on_signal(SIGHUP, outer, 0);
    on_signal(SIGUSR1, middle, 0);
    on_signal(SIGUSR2, inner, 0);
    raise(SIGHUP);
    return 0;
}
