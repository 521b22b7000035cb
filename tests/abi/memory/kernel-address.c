/* A kernel's address cannot be read. */
#include "abi.h"

static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d\n", signal_name(n), info->si_code);
    fflush(stdout);
    _exit(u == NULL);
}
int main(void)
{
    volatile char *volatile a = (volatile char *)0xffffffff80000000ul;
    on_info(SIGSEGV, handler, 0);
    return a[0];
}
