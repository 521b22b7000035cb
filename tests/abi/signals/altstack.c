/* A handler with SA_ONSTACK runs on the other stack, which is then in use. */
#include "abi.h"

static char *bytes;
static void handler(int n)
{
    stack_t stack;
    char here;
    SHOW(&here > bytes && &here < bytes + 65536);
    sigaltstack(NULL, &stack);
    SHOW(stack.ss_flags == SS_ONSTACK);
    CALL(sigaltstack(&stack, NULL));
    SHOW(n);
}
int main(void)
{
    stack_t stack = {.ss_size = 65536}, old;
    CALL(sigaltstack(NULL, &old));
    SHOW(old.ss_flags == SS_DISABLE);
    bytes = malloc(65536);
    stack.ss_sp = bytes;
    CALL(sigaltstack(&stack, NULL));
    on_signal(SIGUSR1, handler, SA_ONSTACK);
    raise(SIGUSR1);
    stack.ss_size = 100;
    CALL(sigaltstack(&stack, NULL));
    stack.ss_flags = 99;
    CALL(sigaltstack(&stack, NULL));
    stack.ss_flags = SS_DISABLE;
    CALL(sigaltstack(&stack, NULL));
    return 0;
}
