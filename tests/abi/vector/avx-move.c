/* AVX registers move with a thread to every CPU. */
#include "abi.h"

#include <immintrin.h>

__attribute__((target("avx2"))) static int try(void)
{
    cpu_set_t all;
    int wrong = 0, count;
    MUST(sched_getaffinity(0, sizeof(all), &all));
    count = CPU_COUNT(&all);
    for (long i = 0; i < 32; i++) {
        __m256i value = _mm256_set_epi64x(i, i * 3, i * 5, i * 7), got;
        unsigned long mask[16] = {1ul << (i % count)};
        long result;
        __asm__ volatile("vmovdqa %2, %%ymm12; syscall; vmovdqa %%ymm12, %1"
                         : "=a"(result), "=m"(got)
                         : "m"(value), "a"(SYS_sched_setaffinity), "D"(0), "S"(sizeof(mask)), "d"(mask)
                         : "rcx", "r11", "xmm12", "memory");
        wrong += result != 0 || memcmp(&got, &value, sizeof(got)) != 0;
    }
    return wrong;
}
int main(void)
{
    if (__builtin_cpu_supports("avx2"))
        SHOW(try());
    return 0;
}
