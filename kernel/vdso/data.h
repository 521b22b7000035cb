/* The page [vvar] that every program can read: what the code of [vdso] makes the time of. Kernel 0 writes it. */
#ifndef KERNEL_VDSO_DATA_H
#define KERNEL_VDSO_DATA_H

#include <stdint.h>

struct vdso_data {
    volatile uint32_t usable; /* 1: the counters of all CPUs agree; 0: ask the kernel */
    uint32_t pad;
    uint64_t base;           /* nanoseconds since boot: (counter - base) * multiplier / 2^32 */
    uint64_t multiplier;     /* 32.32 */
    volatile uint64_t epoch; /* and this more since 1970 */
};

#endif
