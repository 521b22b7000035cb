/* A static schedule deals iterations in order. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    int who[12];
#pragma omp parallel for num_threads(3) schedule(static)
    for (int i = 0; i < 12; i++)
        who[i] = omp_get_thread_num();
    for (int i = 0; i < 12; i++)
        printf("%d ", who[i]);
#pragma omp parallel for num_threads(3) schedule(static, 2)
    for (int i = 0; i < 12; i++)
        who[i] = omp_get_thread_num();
    for (int i = 0; i < 12; i++)
        printf("%d ", who[i]);
    printf("\n");
    return 0;
}
