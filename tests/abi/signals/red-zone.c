/* A handler leaves the 128 bytes below the stack pointer alone. */
#include "abi.h"

static void handler(int n)
{
    volatile char bytes[512];
    memset((char *)bytes, n, sizeof(bytes));
}
int main(void)
{
    long got;
    on_signal(SIGTRAP, handler, 0);
    __asm__ volatile("movq $0x5a5a, -120(%%rsp); movq $0x3c3c, -8(%%rsp); int3; movq -120(%%rsp), %%rax;"
                     "addq -8(%%rsp), %%rax; mov %%rax, %0"
                     : "=m"(got)
                     :
                     : "rax", "memory");
    printf("%lx\n", got);
    return 0;
}
