/* A breakpoint is SIGTRAP; the program goes on behind it. */
#include "abi.h"

static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d\n", signal_name(n), info->si_code + (u == NULL));
}
int main(void)
{
    on_info(SIGTRAP, handler, 0);
    __asm__ volatile("int3");
    printf("behind it\n");
    return 0;
}
