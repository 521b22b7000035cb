/* The CPU shows the same features and enabled state. */
#include "abi.h"

#include <cpuid.h>

int main(void)
{
    unsigned a, b, c, d;
    __get_cpuid(1, &a, &b, &c, &d);
    printf("sse2 %u sse42 %u osxsave %u avx %u fma %u\n", d >> 26 & 1, c >> 20 & 1, c >> 27 & 1, c >> 28 & 1,
           c >> 12 & 1);
    if ((c >> 27 & 1) != 0) {
        unsigned low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        printf("xcr0 x87 %u sse %u avx %u\n", low & 1, low >> 1 & 1, low >> 2 & 1);
    }
    SHOW(__builtin_cpu_supports("avx2") != 0);
    return 0;
}
