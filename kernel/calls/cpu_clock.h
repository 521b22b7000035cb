/* CPU time as clocks: clock_gettime(2) and what the C library makes of pthread_getcpuclockid. */
#ifndef KERNEL_CALLS_CPU_CLOCK_H
#define KERNEL_CALLS_CPU_CLOCK_H

#include <stdint.h>

#define CPU_CLOCK_OF_PROCESS 2
#define CPU_CLOCK_OF_THREAD 3

/* Reads a CPU clock: one of the two, or a negative id that names a thread. -EINVAL: no such clock, or no such thread
 * here. The process's clock has the part of this kernel's threads, and of those that ended here. */
int64_t cpu_clock_read(int32_t id, uint64_t *nanoseconds);

#endif
