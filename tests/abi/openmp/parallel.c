/* Every thread of a team runs a region once, under its own number. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    int seen[4] = {0};
    omp_set_dynamic(0);
#pragma omp parallel num_threads(4)
    seen[omp_get_thread_num()]++;
    printf("%d %d %d %d\n", seen[0], seen[1], seen[2], seen[3]);
    SHOW(omp_in_parallel());
    SHOW(omp_get_num_threads());
    return 0;
}
