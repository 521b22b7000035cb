/* CPU masks and kernels: bit c of a mask is CPU c of the plan, which belongs to one kernel. */
#ifndef TASKS_SCHED_CPU_MASK_H
#define TASKS_SCHED_CPU_MASK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"

/* Sets MASK to the CPUs of WANTED that belong to a kernel. */
void cpu_mask_known(uint64_t mask[CPUS_MAX / 64], const uint64_t wanted[CPUS_MAX / 64]);
/* Sets MASK to all CPUs that belong to a kernel. */
void cpu_mask_all(uint64_t mask[CPUS_MAX / 64]);
/* Whether KERNEL has a CPU of MASK. */
bool cpu_mask_allows(const uint64_t mask[CPUS_MAX / 64], uint32_t kernel);
/* The kernel nearest to this one that has a CPU of MASK and has started; -EINVAL: there is none. */
int64_t cpu_mask_nearest(const uint64_t mask[CPUS_MAX / 64]);
/* The same among the other kernels. */
int64_t cpu_mask_nearest_other(const uint64_t mask[CPUS_MAX / 64]);

#endif
