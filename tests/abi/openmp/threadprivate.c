/* Thread-private variables last from region to region; copyin sets them. */
#include "abi.h"

#include <omp.h>

static int mine = 3;
#pragma omp threadprivate(mine)
int main(void)
{
    int sum = 0;
    omp_set_dynamic(0);
#pragma omp parallel num_threads(4)
    mine += omp_get_thread_num();
#pragma omp parallel num_threads(4) reduction(+ : sum)
    sum += mine;
    SHOW(sum);
    mine = 100;
    sum = 0;
#pragma omp parallel num_threads(4) copyin(mine) reduction(+ : sum)
    sum += mine;
    SHOW(sum);
    return 0;
}
