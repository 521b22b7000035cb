/* A child has its parent's AVX registers. */
#include "abi.h"

#include <immintrin.h>

__attribute__((target("avx2"))) static long try(void)
{
    __m256i value = _mm256_set_epi64x(11, 22, 33, 44), got;
    long pid;
    __asm__ volatile("vmovdqa %2, %%ymm8; syscall; vmovdqa %%ymm8, %1"
                     : "=a"(pid), "=m"(got)
                     : "m"(value), "a"(SYS_fork)
                     : "rcx", "r11", "xmm8", "memory");
    if (pid == 0)
        _exit(memcmp(&value, &got, 32) == 0 ? 7 : 8);
    return pid;
}
int main(void)
{
    if (__builtin_cpu_supports("avx2"))
        reap((pid_t)try());
    return 0;
}
