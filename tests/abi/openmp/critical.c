/* Critical blocks exclude each other, by name. */
#include "abi.h"

int main(void)
{
    long a = 0, b = 0;
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 300; i++) {
#pragma omp critical(first)
        a++;
#pragma omp critical(second)
        b += 2;
    }
    printf("%ld %ld\n", a, b);
    return 0;
}
