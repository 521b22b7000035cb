/* Atomic updates, captures and writes lose nothing. */
#include "abi.h"

int main(void)
{
    long a = 0, total = 0;
    double d = 0;
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 1000; i++) {
        long seen;
#pragma omp atomic
        a += 1;
#pragma omp atomic
        d += 0.5;
#pragma omp atomic capture
        seen = total++;
        (void)seen;
    }
    printf("%ld %.1f %ld\n", a, d, total);
    return 0;
}
