/* RLIMIT_MEMLOCK: how much memory a process other than root's may lock. */
#ifndef KERNEL_CALLS_MEMORY_LOCK_LIMIT_H
#define KERNEL_CALLS_MEMORY_LOCK_LIMIT_H

#include <stdint.h>

/* Checks whether the current process may lock [START, END) in addition to what it has locked elsewhere, or, if START is
 * END, MORE bytes. -EPERM: it may lock nothing; -ENOMEM: that would be too much. What another thread locks at the same
 * time does not count. Waits for the homes of the process and of its space. */
int64_t lock_limit_check(uint64_t start, uint64_t end, uint64_t more);
/* Whether the current process may lock anything: -EPERM. */
int64_t lock_limit_any(void);

#endif
