/* A cancelled loop ends its region for all, where cancelling is allowed. */
#include "abi.h"

#include <omp.h>

int main(int argc, char **argv)
{
    int found = 0;
    if (argc == 1) {
        setenv("OMP_CANCELLATION", "true", 1);
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    }
    SHOW(omp_get_cancellation());
#pragma omp parallel num_threads(4)
    {
#pragma omp for
        for (int i = 0; i < 1000; i++) {
            if (i == 10) {
                found = 1;
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
    }
    SHOW(found);
    return 0;
}
