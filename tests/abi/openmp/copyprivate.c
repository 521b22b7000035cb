/* A single block's private value is copied to all. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    {
        int value = -1;
#pragma omp single copyprivate(value)
        value = 11;
        sum += value;
    }
    SHOW(sum);
    return 0;
}
