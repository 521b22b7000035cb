/* A process forks after a region, and both go on with regions of their own. */
#include "abi.h"

static int count(void)
{
    int sum = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += i;
    return sum;
}
static int child(void)
{
    return 0;
}
int main(void)
{
    SHOW(count());
    reap(spawn(child));
    SHOW(count());
    return 0;
}
