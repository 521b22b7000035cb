/* A region whose condition does not hold runs in one thread. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    int threads = 0;
#pragma omp parallel if (threads > 0) num_threads(4)
    threads = omp_get_num_threads();
    SHOW(threads);
    return 0;
}
