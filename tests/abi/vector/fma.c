/* Fused multiplication and addition, where the CPU has it. */
#include "abi.h"

#include <immintrin.h>

__attribute__((target("fma"))) static void try(void)
{
    double got[4];
    _mm256_storeu_pd(got, _mm256_fmadd_pd(_mm256_set_pd(1, 2, 3, 4), _mm256_set1_pd(0.1), _mm256_set1_pd(-0.1)));
    printf("%a %a %a %a\n", got[0], got[1], got[2], got[3]);
}
int main(void)
{
    if (__builtin_cpu_supports("fma"))
        try();
    return 0;
}
