/* A sum in vectors over threads on all CPUs is exact. */
#include "abi.h"

#include <immintrin.h>

static int32_t numbers[4][4096];
static atomic_long total;
__attribute__((target("avx2"))) static void *work(void *argument)
{
    long me = (long)argument;
    __m256i sum = _mm256_setzero_si256();
    int32_t parts[8];
    go((int)me);
    for (int i = 0; i < 4096; i += 8) {
        sum = _mm256_add_epi32(sum, _mm256_loadu_si256((__m256i *)&numbers[me][i]));
        if (i % 512 == 0)
            sched_yield();
    }
    _mm256_storeu_si256((__m256i *)parts, sum);
    for (int i = 0; i < 8; i++)
        total += parts[i];
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    if (!__builtin_cpu_supports("avx2"))
        return 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4096; k++)
            numbers[i][k] = i * 10 + k % 7;
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    SHOW(total);
    return 0;
}
