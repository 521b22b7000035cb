/* Ordered blocks run in the order of the iterations. */
#include "abi.h"

int main(void)
{
    int order[20], count = 0;
#pragma omp parallel for num_threads(4) ordered schedule(dynamic)
    for (int i = 0; i < 20; i++) {
#pragma omp ordered
        order[count++] = i;
    }
    for (int i = 0; i < 20; i++)
        printf("%d ", order[i]);
    printf("\n");
    return 0;
}
