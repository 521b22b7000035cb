/* ITIMER_VIRTUAL and ITIMER_PROF, for setitimer(2). */
#ifndef KERNEL_CALLS_TIME_POSIX_TIMER_H
#define KERNEL_CALLS_TIME_POSIX_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the ns that were left until timer ID (TIMER_VIRTUAL, TIMER_PROF) expires, or a negative errno. With SETS the
 * timer is set to expire after VALUE ns (0: never) and then every INTERVAL ns. Waits for the kernels of the process. */
int64_t interval_timer(int32_t id, bool sets, uint64_t value, uint64_t interval, uint64_t *old_interval);

#endif
