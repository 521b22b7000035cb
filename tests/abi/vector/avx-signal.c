/* A handler's use of AVX registers does not change the interrupted program's. */
#include "abi.h"

#include <immintrin.h>

__attribute__((target("avx2"))) static void handler(int n)
{
    __asm__ volatile("vpcmpeqd %%ymm7, %%ymm7, %%ymm7; vpxor %%ymm6, %%ymm6, %%ymm6" : : "r"(n) : "xmm6", "xmm7");
}
__attribute__((target("avx2"))) static int try(void)
{
    __m256i a = _mm256_set_epi64x(1, 2, 3, 4), b = _mm256_set_epi64x(5, 6, 7, 8), c, d;
    __asm__ volatile("vmovdqa %2, %%ymm6; vmovdqa %3, %%ymm7; int3; vmovdqa %%ymm6, %0; vmovdqa %%ymm7, %1"
                     : "=m"(c), "=m"(d)
                     : "m"(a), "m"(b)
                     : "xmm6", "xmm7", "memory");
    return memcmp(&a, &c, 32) != 0 || memcmp(&b, &d, 32) != 0;
}
int main(void)
{
    on_signal(SIGTRAP, handler, 0);
    if (__builtin_cpu_supports("avx2"))
        SHOW(try());
    return 0;
}
