/* Nested regions have teams of their own. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    int inner = 0, level = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : inner)
    {
#pragma omp parallel num_threads(3) reduction(+ : inner)
        {
            inner += omp_get_num_threads();
            if (omp_get_thread_num() == 0)
                level = omp_get_level();
        }
    }
    printf("%d %d\n", inner, level);
    return 0;
}
