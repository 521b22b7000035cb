/* A break that cannot be leaves the old one. */
#include "abi.h"

int main(void)
{
    long old = syscall(SYS_brk, 0);
    SHOW(old > 0);
    SHOW(syscall(SYS_brk, 1) == old);
    SHOW(syscall(SYS_brk, 1L << 46) == old);
    SHOW(syscall(SYS_brk, -1) == old);
    SHOW(syscall(SYS_brk, 0) == old);
    return 0;
}
