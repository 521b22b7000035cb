/* AVX registers survive sleeping and waiting. */
#include "abi.h"

#include <immintrin.h>

__attribute__((target("avx2"))) static int try(void)
{
    __m256i value = _mm256_set_epi64x(1, 22, 333, 4444), got;
    struct timespec time = {0, 20000000};
    long result;
    __asm__ volatile("vmovdqa %2, %%ymm5; syscall; vmovdqa %%ymm5, %1"
                     : "=a"(result), "=m"(got)
                     : "m"(value), "a"(SYS_nanosleep), "D"(&time), "S"(0)
                     : "rcx", "r11", "xmm5", "memory");
    return (int)result != 0 || memcmp(&value, &got, 32) != 0;
}
int main(void)
{
    if (__builtin_cpu_supports("avx2"))
        SHOW(try());
    return 0;
}
