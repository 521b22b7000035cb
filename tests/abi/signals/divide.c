/* An integer division by zero is SIGFPE with FPE_INTDIV. */
#include "abi.h"

static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d\n", signal_name(n), info->si_code);
    fflush(stdout);
    _exit(u == NULL);
}
int main(void)
{
    volatile int zero = 0;
    on_info(SIGFPE, handler, 0);
    return 5 / zero;
}
