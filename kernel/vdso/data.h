/* The page [vvar], which every program can read: the data from which the code of [vdso] computes the time. Kernel 0
 * writes it. */
#ifndef KERNEL_VDSO_DATA_H
#define KERNEL_VDSO_DATA_H

#include <stdint.h>

struct vdso_data {
    volatile uint32_t usable; /* 1: the counters of all CPUs agree; 0: use system calls */
    uint32_t pad;
    uint64_t base;           /* nanoseconds since boot: (counter - base) * multiplier / 2^32 */
    uint64_t multiplier;     /* 32.32 */
    volatile uint64_t epoch; /* nanoseconds from 1970 to boot */
};

#endif
