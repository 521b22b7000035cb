/* Teams of growing and shrinking sizes. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    omp_set_dynamic(0);
    for (int i = 1; i <= 8; i++) {
        int up = 0, down = 0;
#pragma omp parallel num_threads(i) reduction(+ : up)
        up++;
#pragma omp parallel num_threads(9 - i) reduction(+ : down)
        down++;
        printf("%d %d, ", up, down);
    }
    printf("\n");
    return 0;
}
