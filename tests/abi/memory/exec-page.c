/* Code that was written runs once its page is executable, and not before. */
#include "abi.h"

static sigjmp_buf back;
static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d\n", signal_name(n), info->si_code);
    siglongjmp(back, u != NULL);
}
int main(void)
{
    static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov $42, %eax; ret */
    char *a = MAP(PAGE, MAP_PRIVATE);
    int (*function)(void);
    on_info(SIGSEGV, handler, 0);
    memcpy(a, code, sizeof(code));
    memcpy(&function, &a, sizeof(a));
    if (sigsetjmp(back, 1) == 0)
        SHOW(function());
    CALL(mprotect(a, PAGE, PROT_READ | PROT_EXEC));
    SHOW(function());
    return 0;
}
