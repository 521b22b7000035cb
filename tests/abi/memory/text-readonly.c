/* A program's code cannot be written, its constants neither. */
#include "abi.h"

static sigjmp_buf back;
static const char constant[] = "constant";
static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d\n", signal_name(n), info->si_code);
    siglongjmp(back, u != NULL);
}
int main(void)
{
    on_info(SIGSEGV, handler, 0);
    if (sigsetjmp(back, 1) == 0)
        *(volatile char *)(uintptr_t)&main = 1;
    if (sigsetjmp(back, 1) == 0)
        *(volatile char *)(uintptr_t)constant = 1;
    TEXT(constant);
    return 0;
}
