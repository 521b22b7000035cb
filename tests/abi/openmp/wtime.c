/* omp_get_wtime grows, with its tick. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    double begun = omp_get_wtime();
    sleep_ms(20);
    SHOW(omp_get_wtime() - begun >= 0.02);
    SHOW(omp_get_wtick() > 0 && omp_get_wtick() < 0.01);
    return 0;
}
