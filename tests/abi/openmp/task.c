/* Tasks are all run, and taskwait waits for them. */
#include "abi.h"

static long fibonacci(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}
int main(void)
{
    long result = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    result = fibonacci(12);
    SHOW(result);
    return 0;
}
