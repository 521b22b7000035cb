/* Load averages as getloadavg(3) has them: the number of threads that run or want to, damped exponentially over 1, 5
 * and 15 minutes. Averages are linear: those of CPUs and kernels can be added. Arithmetic only, in fixed point. */
#ifndef TASKS_SCHED_LOAD_AVERAGE_H
#define TASKS_SCHED_LOAD_AVERAGE_H

#include <stdint.h>

#define LOAD_AVERAGES 3u
#define LOAD_PERIOD 5000000000ull /* ns: what changes within one is taken as its mean */
#define LOAD_UNIT_SHIFT 32u       /* one thread is 1 << this */

struct load_average {
    uint64_t average[LOAD_AVERAGES];
    uint64_t until; /* ns: the moment of the averages, a multiple of the period after the first */
};

/* In the time from A->until to NOW (ns) threads have run or waited for RAN ns together: A advances as near to NOW as
 * whole periods allow, each with the mean of all. Returns the part of RAN for the remaining time. */
uint64_t load_average_fold(struct load_average *a, uint64_t now, uint64_t ran);

#endif
