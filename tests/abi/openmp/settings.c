/* Numbers that the environment sets and calls tell. */
#include "abi.h"

#include <omp.h>

int main(int argc, char **argv)
{
    if (argc == 1) {
        setenv("OMP_NUM_THREADS", "3", 1);
        setenv("OMP_SCHEDULE", "guided,4", 1);
        setenv("OMP_DYNAMIC", "false", 1);
        setenv("OMP_THREAD_LIMIT", "9", 1);
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    }
    omp_sched_t kind;
    int chunk;
    SHOW(omp_get_max_threads());
    omp_get_schedule(&kind, &chunk);
    SHOW(kind == omp_sched_guided);
    SHOW(chunk);
    SHOW(omp_get_dynamic());
    SHOW(omp_get_thread_limit());
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    SHOW(omp_get_num_procs() == CPU_COUNT(&set));
    return 0;
}
