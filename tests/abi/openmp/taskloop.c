/* A taskloop runs each iteration once. */
#include "abi.h"

int main(void)
{
    int count[100] = {0};
    long wrong = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
#pragma omp taskloop grainsize(7)
    for (int i = 0; i < 100; i++)
        count[i]++;
    for (int i = 0; i < 100; i++)
        wrong += count[i] != 1;
    SHOW(wrong);
    return 0;
}
