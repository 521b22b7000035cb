/* A non-canonical address is SIGSEGV without an address. */
#include "abi.h"

static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d at %p\n", signal_name(n), info->si_code, info->si_addr);
    fflush(stdout);
    _exit(u == NULL);
}
int main(void)
{
    volatile char *volatile a = (volatile char *)0x8000000000000000ul;
    on_info(SIGSEGV, handler, 0);
    a[0] = 1;
    return 1;
}
