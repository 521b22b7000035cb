/* CPU-time clocks, for clock_gettime(2) and timers. pthread_getcpuclockid returns ids of them. */
#ifndef KERNEL_CALLS_PROCESS_CPU_CLOCK_H
#define KERNEL_CALLS_PROCESS_CPU_CLOCK_H

#include <stdint.h>

#define CPU_CLOCK_KIND 3u /* the two low bits of a negative clock id: 1 user time, 0 and 2 user + system time */
#define CPU_CLOCK_USER 1u
#define CPU_CLOCK_THREAD 4u
#define CPU_CLOCK_LOOK 4000000u /* ns: a waiter reads such a clock no more often than this */

/* Reads a CPU clock: CLOCK_PROCESS_CPU, CLOCK_THREAD_CPU, or a negative id that names a process or thread, wherever it
 * is. -EINVAL: no such clock, process or thread. Waits for the kernels that have threads of it. */
int64_t cpu_clock_read(int32_t id, uint64_t *nanoseconds);

#endif
