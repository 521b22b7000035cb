/* Moves between several kernels. tests/guest/harness/several_kernels.h is the contract. */
#include "tests/guest/harness/several_kernels.h"

#include "tests/guest/harness/tap.h"
#include "userland/thread.h"

static int kernels[64];
static int count;

void kernels_find(void)
{
    int all = tap_kernels(kernels);

    count = all < KERNELS_MAX ? all : KERNELS_MAX;
    for (int i = 0; i < count; i++)
        kernels[i] = kernels[i * all / count];
}

int kernels_count(void)
{
    return count;
}

void kernels_go(long number)
{
    thread_move(kernels[(unsigned long)number % (unsigned long)count]);
}
