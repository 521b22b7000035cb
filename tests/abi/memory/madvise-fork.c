/* What is not passed on to a child, and what is emptied for it. */
#include "abi.h"

static char *a, *b;
static sigjmp_buf back;
static void handler(int n)
{
    siglongjmp(back, n);
}
static int child(void)
{
    on_signal(SIGSEGV, handler, 0);
    SHOW(b[0]);
    if (sigsetjmp(back, 1) == 0)
        SHOW(*(volatile char *)a);
    else
        printf("not there\n");
    return 3;
}
int main(void)
{
    a = MAP(PAGE, MAP_PRIVATE), b = MAP(PAGE, MAP_PRIVATE);
    a[0] = b[0] = 1;
    CALL(madvise(a, PAGE, MADV_DONTFORK));
    CALL(madvise(b, PAGE, MADV_WIPEONFORK));
    reap(spawn(child));
    SHOW(a[0] + b[0]);
    return 0;
}
