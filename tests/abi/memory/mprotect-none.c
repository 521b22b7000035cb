/* A page without permissions keeps what it has. */
#include "abi.h"

static sigjmp_buf back;
static void handler(int n)
{
    say("fault\n");
    siglongjmp(back, n);
}
int main(void)
{
    volatile char *a = MAP(PAGE, MAP_PRIVATE);
    on_signal(SIGSEGV, handler, 0);
    a[0] = 42;
    CALL(mprotect((void *)a, PAGE, PROT_NONE));
    if (sigsetjmp(back, 1) == 0)
        SHOW(a[0]);
    CALL(mprotect((void *)a, PAGE, PROT_READ));
    SHOW(a[0]);
    return 0;
}
