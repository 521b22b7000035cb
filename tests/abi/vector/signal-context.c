/* A handler's context has the interrupted SSE registers and can change them. */
#include "abi.h"

static void handler(int n, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    uint32_t *xmm = (uint32_t *)((char *)u->uc_mcontext.fpregs + 160 + 16 * 10);
    printf("%s %x %d\n", signal_name(n), xmm[0], info != NULL);
    xmm[0] = 0x5678;
}
int main(void)
{
    long got;
    on_info(SIGTRAP, handler, 0);
    __asm__ volatile("mov $0x1234, %%eax; movd %%eax, %%xmm10; int3; movd %%xmm10, %%eax; mov %%rax, %0"
                     : "=m"(got)
                     :
                     : "rax", "xmm10", "memory");
    printf("%lx\n", got & 0xffffffff);
    return 0;
}
