/* Without such a handler the program is killed. */
#include "abi.h"

static volatile int sink;
static int use(int depth)
{
    volatile char bytes[4096];
    bytes[0] = (char)depth;
    sink = bytes[0];
    return use(depth + 1) + bytes[0];
}
static void handler(int n)
{
    say("cannot run on a stack that is full\n");
    _exit(n);
}
int main(void)
{
    on_signal(SIGSEGV, handler, 0);
    return use(0);
}
