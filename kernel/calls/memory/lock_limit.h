/* RLIMIT_MEMLOCK: how much memory a process other than root's may lock. The home of its space counts
 * (mm/space/limit.h). */
#ifndef KERNEL_CALLS_MEMORY_LOCK_LIMIT_H
#define KERNEL_CALLS_MEMORY_LOCK_LIMIT_H

#include <stdint.h>

/* The limit of the current process in bytes; LIMIT_NONE for root. Waits for the home of the process. */
int64_t lock_limit(uint64_t *bytes);
/* Whether the current process may lock anything: 0 or -EPERM. Waits for the home of the process. */
int64_t lock_limit_any(void);
/* The error of a call that would have locked too much (-ENOLCK of mm/change): -EPERM if the process may lock nothing,
 * else ERROR. Waits as well. */
int64_t lock_limit_said(int64_t error);

#endif
