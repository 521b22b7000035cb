/* AVX registers survive page faults. */
#include "abi.h"

#include <immintrin.h>

__attribute__((target("avx2"))) static int try(void)
{
    char *a = MAP(64 * PAGE, MAP_PRIVATE);
    int wrong = 0;
    for (long i = 0; i < 64; i++) {
        __m256i value = _mm256_set1_epi64x(i * 1234567), got;
        __asm__ volatile("vmovdqa %1, %%ymm3; movb $1, (%2); vmovdqa %%ymm3, %0"
                         : "=m"(got)
                         : "m"(value), "r"(a + i * PAGE)
                         : "xmm3", "memory");
        wrong += memcmp(&value, &got, 32) != 0;
    }
    return wrong;
}
int main(void)
{
    if (__builtin_cpu_supports("avx2"))
        SHOW(try());
    return 0;
}
