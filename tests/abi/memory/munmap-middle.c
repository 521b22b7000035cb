/* An unmapped middle page faults with SEGV_MAPERR at its address; its neighbours stay. */
#include "abi.h"

static char *a;
static sigjmp_buf back;
static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d at +%ld\n", signal_name(n), info->si_code, (long)((char *)info->si_addr - a));
    siglongjmp(back, u != NULL);
}
int main(void)
{
    on_info(SIGSEGV, handler, 0);
    a = MAP(3 * PAGE, MAP_PRIVATE);
    memset(a, 7, 3 * PAGE);
    CALL(munmap(a + PAGE, PAGE));
    SHOW(a[0] + a[2 * PAGE]);
    for (volatile long i = 0; i < 3; i++) {
        if (sigsetjmp(back, 1) == 0)
            a[i * PAGE + 5] = 1;
    }
    return 0;
}
