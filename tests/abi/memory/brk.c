/* The break grows with zeros; what it gives back is zero when it comes again. */
#include "abi.h"

int main(void)
{
    char *a = (char *)(((long)sbrk(0) + PAGE - 1) & -PAGE);
    MUST(syscall(SYS_brk, a + 4 * PAGE));
    SHOW(a[4 * PAGE - 1]);
    memset(a, 9, 4 * PAGE);
    SHOW(syscall(SYS_brk, a + PAGE) == (long)(a + PAGE));
    SHOW(syscall(SYS_brk, a + 4 * PAGE) == (long)(a + 4 * PAGE));
    SHOW(a[PAGE - 1]);
    SHOW(a[PAGE]);
    return 0;
}
