/* A handler can move the program counter on. */
#include "abi.h"

static void handler(int n, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    u->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
    u->uc_mcontext.gregs[REG_RBX] = 1234;
    printf("%s %d\n", signal_name(n), info->si_signo == n);
}
int main(void)
{
    long got;
    on_info(SIGILL, handler, 0);
    __asm__ volatile("mov $1, %%rbx; ud2; mov %%rbx, %0" : "=r"(got) : : "rbx");
    SHOW(got);
    return 0;
}
