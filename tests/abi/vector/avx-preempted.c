/* AVX registers survive a thread's being interrupted while it computes. */
#include "abi.h"

#include <immintrin.h>

static atomic_int wrong;
__attribute__((target("avx2"))) static void *work(void *argument)
{
    __m256i value = _mm256_set1_epi64x((long)argument * 0x0101010101010101), got;
    int64_t end = now(CLOCK_MONOTONIC) + 100000000;
    go(0);
    while (now(CLOCK_MONOTONIC) < end) {
        __asm__ volatile("vmovdqa %1, %%ymm9; mov $20000, %%ecx; 1: dec %%ecx; jnz 1b; vmovdqa %%ymm9, %0"
                         : "=m"(got)
                         : "m"(value)
                         : "rcx", "xmm9", "memory");
        if (memcmp(&got, &value, sizeof(got)) != 0)
            wrong++;
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[3];
    if (!__builtin_cpu_supports("avx2"))
        return 0;
    for (long i = 0; i < 3; i++)
        threads[i] = start(work, (void *)(i + 1));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    SHOW(wrong);
    return 0;
}
