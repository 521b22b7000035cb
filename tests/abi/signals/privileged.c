/* Privileged instructions are SIGSEGV. */
#include "abi.h"

static sigjmp_buf back;
static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d\n", signal_name(n), info->si_code + (u == NULL));
    siglongjmp(back, 1);
}
int main(void)
{
    on_info(SIGSEGV, handler, 0);
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile("hlt");
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile("cli");
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile("outb %%al, $0x80" : : "a"(0));
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile("mov %%cr3, %%rax" : : : "rax");
    return 0;
}
