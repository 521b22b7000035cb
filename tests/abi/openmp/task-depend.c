/* Tasks that depend on each other run in order. */
#include "abi.h"

int main(void)
{
    int value = 0, trace[5] = {0};
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 5; i++) {
#pragma omp task depend(inout : value) firstprivate(i)
        trace[i] = value++;
    }
    printf("%d %d %d %d %d\n", trace[0], trace[1], trace[2], trace[3], trace[4]);
    return 0;
}
