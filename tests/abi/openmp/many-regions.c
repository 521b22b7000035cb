/* 100 regions, one after another. */
#include "abi.h"

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 100; i++) {
#pragma omp parallel num_threads(4) reduction(+ : sum)
        sum++;
    }
    SHOW(sum);
    return 0;
}
