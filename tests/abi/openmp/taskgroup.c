/* A taskgroup waits for tasks of tasks. */
#include "abi.h"

int main(void)
{
    int count = 0, seen = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskgroup
        for (int i = 0; i < 8; i++) {
#pragma omp task
            {
#pragma omp task
#pragma omp atomic
                count++;
#pragma omp atomic
                count++;
            }
        }
        seen = count;
    }
    SHOW(seen);
    return 0;
}
