/* An instruction that is none is SIGILL, at its address. */
#include "abi.h"

static char *volatile at;
static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d here %d\n", signal_name(n), info->si_code, info->si_addr == at);
    fflush(stdout);
    _exit(u == NULL);
}
int main(void)
{
    on_info(SIGILL, handler, 0);
    __asm__ volatile("lea 1f(%%rip), %%rax; mov %%rax, %0; 1: ud2" : "=m"(at) : : "rax", "memory");
    return 1;
}
