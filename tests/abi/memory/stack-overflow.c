/* A stack without end is SIGSEGV, which a handler on another stack can take. */
#include "abi.h"

static void handler(int n)
{
    say(n == SIGSEGV ? "overflow\n" : "?\n");
    _exit(4);
}
static volatile int sink;
static int use(int depth)
{
    volatile char bytes[4096];
    bytes[0] = (char)depth;
    sink = bytes[0];
    return use(depth + 1) + bytes[0];
}
int main(void)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    MUST(sigaltstack(&stack, NULL));
    on_signal(SIGSEGV, handler, SA_ONSTACK);
    return use(0);
}
