/* A write to a page made read-only faults with SEGV_ACCERR; after mprotect it goes on. */
#include "abi.h"

static char *a;
static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d at +%ld\n", signal_name(n), info->si_code, (long)((char *)info->si_addr - a) + (u == NULL));
    MUST(mprotect(a, PAGE, PROT_READ | PROT_WRITE));
}
int main(void)
{
    on_info(SIGSEGV, handler, 0);
    a = MAP(PAGE, MAP_PRIVATE);
    a[10] = 1;
    CALL(mprotect(a, PAGE, PROT_READ));
    SHOW(a[10]);
    *(volatile char *)(a + 10) = 2;
    SHOW(a[10]);
    return 0;
}
