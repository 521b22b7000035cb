/* OMP_PROC_BIND and OMP_PLACES=cores bind each thread to one CPU. */
#include "abi.h"

#include <omp.h>

int main(int argc, char **argv)
{
    int count[64] = {0}, single = 0, distinct = 0;
    if (argc == 1) {
        setenv("OMP_PROC_BIND", "true", 1);
        setenv("OMP_PLACES", "cores", 1);
        setenv("OMP_NUM_THREADS", "4", 1);
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    }
    SHOW(omp_get_proc_bind());
    SHOW(omp_get_num_places());
#pragma omp parallel reduction(+ : single)
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof(set), &set);
        single += CPU_COUNT(&set) == 1 && CPU_ISSET((unsigned)sched_getcpu(), &set);
#pragma omp atomic
        count[sched_getcpu()]++;
    }
    for (int i = 0; i < 64; i++)
        distinct += count[i] > 0;
    printf("%d %d\n", single, distinct);
    return 0;
}
