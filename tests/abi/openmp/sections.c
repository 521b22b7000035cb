/* Each section runs once. */
#include "abi.h"

int main(void)
{
    int a = 0, b = 0, c = 0;
#pragma omp parallel sections num_threads(3)
    {
#pragma omp section
        a++;
#pragma omp section
        b += 2;
#pragma omp section
        c += 3;
    }
    printf("%d %d %d\n", a, b, c);
    return 0;
}
