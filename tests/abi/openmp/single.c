/* One thread runs a single block, and all see what it did. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    int value = 0, runs = 0, wrong = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp single
        {
            runs++;
            value = 42;
        }
        if (value != 42)
#pragma omp atomic
            wrong++;
    }
    printf("%d %d\n", runs, wrong);
    return 0;
}
