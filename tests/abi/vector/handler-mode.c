/* A handler begins with the usual modes, and the interrupted ones are back after it. */
#include "abi.h"

#include <immintrin.h>

static void handler(int n)
{
    printf("%x\n", _mm_getcsr() & 0xffc0);
    _mm_setcsr(0x1f80);
    (void)n;
}
int main(void)
{
    on_signal(SIGUSR1, handler, 0);
    _mm_setcsr(0x7f80);
    raise(SIGUSR1);
    printf("%x\n", _mm_getcsr() & 0xffc0);
    return 0;
}
