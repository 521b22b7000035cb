/* OMP_PLACES with lists of CPUs, and close and spread. */
#include "abi.h"

#include <omp.h>

int main(int argc, char **argv)
{
    static const char *const places[] = {"threads", "{0},{1}", "{0,1},{2,3}", "{0}:4", "sockets", "cores(2)"};
    if (argc == 1) {
        for (int i = 0; i < 12; i++) {
            fflush(stdout);
            pid_t pid = fork();
            if (pid == 0) {
                setenv("OMP_PLACES", places[i / 2], 1);
                setenv("OMP_PROC_BIND", i % 2 == 0 ? "close" : "spread", 1);
                execl("/proc/self/exe", argv[0], places[i / 2], (char *)NULL);
            }
            waitpid(pid, NULL, 0);
        }
        return 0;
    }
    int where[2];
#pragma omp parallel num_threads(2)
    where[omp_get_thread_num()] = omp_get_place_num();
    printf("%s: %d places, threads at %d %d\n", argv[1], omp_get_num_places(), where[0], where[1]);
    return 0;
}
