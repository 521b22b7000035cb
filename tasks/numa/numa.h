/* Moving memory to those who use it: the driver. From time to time it looks at the accesses of every space that this
 * kernel hosts, and moves memory of those that are at home here. mm/numa.md describes it. */
#ifndef TASKS_NUMA_NUMA_H
#define TASKS_NUMA_NUMA_H

#include <stdint.h>

/* Registers the option numa=. Once, after the timers have started. */
void numa_init(void);
/* The name of the policy. */
const char *numa_policy(void);

#endif
