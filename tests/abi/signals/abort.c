/* abort kills with SIGABRT even if it is ignored, blocked or handled. */
#include "abi.h"

static void handler(int n)
{
    say(n == SIGABRT ? "handler\n" : "?\n");
}
static int ignored(void)
{
    signal(SIGABRT, SIG_IGN);
    abort();
}
static int blocked(void)
{
    sigset_t set = set_of(SIGABRT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    abort();
}
static int handled(void)
{
    on_signal(SIGABRT, handler, 0);
    abort();
}
int main(void)
{
    reap(spawn(ignored));
    reap(spawn(blocked));
    reap(spawn(handled));
    return 0;
}
