/* Locks and nested locks of OpenMP. */
#include "abi.h"

#include <omp.h>

int main(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    long count = 0, nested = 0; /* each under its own lock */
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    omp_set_lock(&lock);
    SHOW(omp_test_lock(&lock));
    omp_unset_lock(&lock);
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 100; i++) {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        nested++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    SHOW(count);
    SHOW(nested);
    SHOW(omp_test_nest_lock(&nest));
    SHOW(omp_test_nest_lock(&nest));
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    omp_destroy_lock(&lock);
    return 0;
}
