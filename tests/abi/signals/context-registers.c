/* A handler sees the interrupted registers, and all are as before when it returns. */
#include "abi.h"

static void handler(int n, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    printf("%s %llx %llx %d\n", signal_name(n), (unsigned long long)u->uc_mcontext.gregs[REG_R12],
           (unsigned long long)u->uc_mcontext.gregs[REG_R13], info != NULL);
    __asm__ volatile("mov $0, %%r12; mov $0, %%r13; mov $0, %%r14" : : : "r12", "r13", "r14");
}
int main(void)
{
    long a, b, c;
    on_info(SIGTRAP, handler, 0);
    __asm__ volatile("mov $0x1111, %%r12; mov $0x2222, %%r13; mov $0x3333, %%r14; int3; mov %%r12, %0; mov %%r13, %1;"
                     "mov %%r14, %2"
                     : "=m"(a), "=m"(b), "=m"(c)
                     :
                     : "r12", "r13", "r14", "memory");
    printf("%lx %lx %lx\n", a, b, c);
    return 0;
}
