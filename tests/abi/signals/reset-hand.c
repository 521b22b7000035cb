/* SA_RESETHAND: the second signal takes the default action. */
#include "abi.h"

static void handler(int n)
{
    say(n == SIGTERM ? "handler\n" : "?\n");
}
int main(void)
{
    on_signal(SIGTERM, handler, SA_RESETHAND);
    raise(SIGTERM);
    printf("once\n");
    raise(SIGTERM);
    printf("not here\n");
    return 0;
}
