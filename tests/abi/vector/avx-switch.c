/* All halves of AVX registers survive switches between threads. */
#include "abi.h"

#include <immintrin.h>

static atomic_int wrong;
__attribute__((target("avx2"))) static void *work(void *argument)
{
    go(0);
    for (long i = 0; i < 200; i++) {
        __m256i value = _mm256_set_epi64x((long)argument, i, (long)argument * i, ~i), got;
        long number = SYS_sched_yield;
        __asm__ volatile("vmovdqa %2, %%ymm14; syscall; vmovdqa %%ymm14, %0"
                         : "=m"(got), "+a"(number)
                         : "m"(value)
                         : "rcx", "r11", "xmm14", "memory");
        if (memcmp(&got, &value, sizeof(got)) != 0)
            wrong++;
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    __builtin_cpu_init();
    SHOW(__builtin_cpu_supports("avx2") != 0);
    if (!__builtin_cpu_supports("avx2"))
        return 0;
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    SHOW(wrong);
    return 0;
}
