/* No thread is behind a barrier before all have come. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    int arrived = 0, wrong = 0;
#pragma omp parallel num_threads(4)
    for (int i = 1; i <= 20; i++) {
        int seen;
#pragma omp atomic
        arrived++;
#pragma omp barrier
#pragma omp atomic read
        seen = arrived;
        if (seen < 4 * i)
#pragma omp atomic
            wrong++;
#pragma omp barrier
    }
    printf("%d %d\n", arrived, wrong);
    return 0;
}
