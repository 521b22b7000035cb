/* The end of a shrunk mapping is gone. */
#include "abi.h"

static sigjmp_buf back;
static void handler(int n)
{
    siglongjmp(back, n);
}
int main(void)
{
    volatile char *a = MAP(3 * PAGE, MAP_PRIVATE);
    on_signal(SIGSEGV, handler, 0);
    a[0] = 1;
    SHOW(mremap((void *)a, 3 * PAGE, PAGE, 0) == a);
    SHOW(a[0]);
    if (sigsetjmp(back, 1) == 0)
        SHOW(a[PAGE]);
    else
        printf("gone\n");
    return 0;
}
