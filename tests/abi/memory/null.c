/* Reading and writing address 0 is SIGSEGV with SEGV_MAPERR. */
#include "abi.h"

static sigjmp_buf back;
static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d at %p\n", signal_name(n), info->si_code, info->si_addr);
    siglongjmp(back, u != NULL);
}
int main(void)
{
    volatile char *volatile a = NULL;
    on_info(SIGSEGV, handler, 0);
    if (sigsetjmp(back, 1) == 0)
        SHOW(a[0]);
    if (sigsetjmp(back, 1) == 0)
        a[100] = 1;
    return 0;
}
