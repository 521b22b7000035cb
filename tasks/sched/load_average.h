/* Load averages as getloadavg(3) returns them: the number of threads that run or are ready, damped exponentially over
 * 1, 5 and 15 minutes. Averages are linear, so those of CPUs and kernels can be added. Arithmetic only, in fixed
 * point. */
#ifndef TASKS_SCHED_LOAD_AVERAGE_H
#define TASKS_SCHED_LOAD_AVERAGE_H

#include <stdint.h>

#define LOAD_AVERAGES 3u
#define LOAD_PERIOD 5000000000ull /* ns; of each period, only the mean counts */
#define LOAD_UNIT_SHIFT 32u       /* one thread is 1 << LOAD_UNIT_SHIFT */

struct load_average {
    uint64_t average[LOAD_AVERAGES];
    uint64_t until; /* ns: time of the averages; advances by multiples of the period */
};

/* Between A->until and NOW (ns), threads have run or been ready for RAN ns in total. Advances A by the whole periods
 * that have passed, each with the mean of the whole time. Returns the part of RAN that belongs to the remaining
 * time. */
uint64_t load_average_fold(struct load_average *a, uint64_t now, uint64_t ran);

#endif
