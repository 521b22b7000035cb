/* A floating point exception that is unmasked is SIGFPE with its code. */
#include "abi.h"

#include <immintrin.h>

static sigjmp_buf back;
static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d\n", signal_name(n), info->si_code);
    siglongjmp(back, u != NULL);
}
int main(void)
{
    volatile double one = 1, zero = 0, large = 1e308, result = 0;
    on_info(SIGFPE, handler, 0);
    for (volatile int i = 0; i < 3; i++) {
        _mm_setcsr(0x1f80 & ~(_MM_MASK_DIV_ZERO | _MM_MASK_OVERFLOW | _MM_MASK_INVALID));
        if (sigsetjmp(back, 1) == 0)
            result = i == 0 ? one / zero : i == 1 ? large * large : zero / zero;
    }
    SHOW(result);
    return 0;
}
