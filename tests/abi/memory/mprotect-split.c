/* Permissions of single pages in the middle of an area. */
#include "abi.h"

static sigjmp_buf back;
static void handler(int n)
{
    siglongjmp(back, n);
}
int main(void)
{
    char *a = MAP(6 * PAGE, MAP_PRIVATE);
    on_signal(SIGSEGV, handler, 0);
    memset(a, 1, 6 * PAGE);
    MUST(mprotect(a + PAGE, PAGE, PROT_READ));
    MUST(mprotect(a + 3 * PAGE, 2 * PAGE, PROT_NONE));
    MUST(mprotect(a + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE));
    for (volatile int i = 0; i < 6; i++) {
        if (sigsetjmp(back, 1) == 0) {
            (*(volatile char *)(a + i * PAGE))++;
            printf("page %d can be written\n", i);
        } else {
            printf("page %d cannot\n", i);
        }
    }
    return 0;
}
