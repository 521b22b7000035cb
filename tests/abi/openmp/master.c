/* Thread 0 alone runs a master block. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    int runs = 0, who = -1;
#pragma omp parallel num_threads(4)
    {
#pragma omp master
        {
            runs++;
            who = omp_get_thread_num();
        }
    }
    printf("%d %d\n", runs, who);
    return 0;
}
