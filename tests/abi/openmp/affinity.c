/* GOMP_CPU_AFFINITY puts threads on the CPUs that it names. */
#include "abi.h"

#include <omp.h>

int main(int argc, char **argv)
{
    int where[4];
    if (argc == 1) {
        setenv("GOMP_CPU_AFFINITY", "3 1 0-2:2", 1);
        setenv("OMP_NUM_THREADS", "4", 1);
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    }
#pragma omp parallel
    where[omp_get_thread_num()] = sched_getcpu();
    printf("%d %d %d %d\n", where[0], where[1], where[2], where[3]);
    return 0;
}
