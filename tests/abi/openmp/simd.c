/* Loops in vectors over threads. */
#include "abi.h"

int main(void)
{
    static float a[1000], b[1000];
    float sum = 0;
    for (int i = 0; i < 1000; i++)
        a[i] = (float)(i % 10), b[i] = (float)(i % 3);
#pragma omp parallel for simd num_threads(4) reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += a[i] * b[i];
    printf("%.1f\n", sum);
    return 0;
}
