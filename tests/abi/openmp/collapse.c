/* Collapsed loops run every pair once. */
#include "abi.h"

int main(void)
{
    int count[10][12] = {{0}};
    long wrong = 0;
#pragma omp parallel for num_threads(4) collapse(2) schedule(dynamic)
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < 12; k++)
            count[i][k]++;
    for (int i = 0; i < 120; i++)
        wrong += count[i / 12][i % 12] != 1;
    SHOW(wrong);
    return 0;
}
