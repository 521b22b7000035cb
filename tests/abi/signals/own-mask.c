/* A handler's own signal waits until it returns; with SA_NODEFER it nests. */
#include "abi.h"

static int depth;
static void handler(int n)
{
    if (++depth < 3) {
        say("begin\n");
        raise(n);
        say("end\n");
    }
}
int main(void)
{
    on_signal(SIGUSR1, handler, 0);
    raise(SIGUSR1);
    depth = 0;
    on_signal(SIGUSR1, handler, SA_NODEFER);
    raise(SIGUSR1);
    return 0;
}
