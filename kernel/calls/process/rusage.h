/* struct rusage of Linux, for getrusage(2), wait4(2) and waitid(2). */
#ifndef KERNEL_CALLS_PROCESS_RUSAGE_H
#define KERNEL_CALLS_PROCESS_RUSAGE_H

#include <stdint.h>

#include "tasks/thread/account.h"

/* Writes a struct rusage with these times and the counts of USED to user address ADDRESS. -EFAULT. */
int64_t rusage_write(uint64_t address, uint64_t user_ns, uint64_t system_ns, const struct account_used *used);

#endif
