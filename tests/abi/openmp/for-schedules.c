/* Every schedule runs every iteration once. */
#include "abi.h"

#include <omp.h>

static int count[1000];
static void check(const char *what)
{
    long wrong = 0;
    for (int i = 0; i < 1000; i++) {
        wrong += count[i] != 1;
        count[i] = 0;
    }
    printf("%s %ld\n", what, wrong);
}
int main(void)
{
#pragma omp parallel for num_threads(4) schedule(dynamic)
    for (int i = 0; i < 1000; i++)
        count[i]++;
    check("dynamic");
#pragma omp parallel for num_threads(4) schedule(dynamic, 7)
    for (int i = 0; i < 1000; i++)
        count[i]++;
    check("dynamic, 7");
#pragma omp parallel for num_threads(4) schedule(guided)
    for (int i = 0; i < 1000; i++)
        count[i]++;
    check("guided");
    omp_set_schedule(omp_sched_dynamic, 3);
#pragma omp parallel for num_threads(4) schedule(runtime)
    for (int i = 0; i < 1000; i++)
        count[i]++;
    check("runtime");
#pragma omp parallel for num_threads(4) schedule(auto)
    for (int i = 0; i < 1000; i++)
        count[i]++;
    check("auto");
    return 0;
}
