/* private, firstprivate and lastprivate. */
#include "abi.h"

int main(void)
{
    int a = 5, b = 7, last = 0, sum = 0;
#pragma omp parallel for num_threads(4) private(a) firstprivate(b) lastprivate(last) reduction(+ : sum)
    for (int i = 0; i < 16; i++) {
        a = i;
        b = i == 0 ? b + 1 : b;
        last = i * 2;
        sum += a;
    }
    printf("%d %d %d %d\n", a, b, last, sum);
    return 0;
}
