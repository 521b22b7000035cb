/* Which CPU belongs to which kernel, as /proc/kettle/plan says. */
#ifndef USERLAND_KERNEL_CPUS_H
#define USERLAND_KERNEL_CPUS_H

#include <stdbool.h>

#define KERNEL_CPUS_MAX 1024

/* Puts the kernel of each CPU into KERNELS, -1 where there is no such CPU. Returns false, with all of them -1, where
 * there is no plan to read: on a kernel that is no Kettle. */
bool kernel_cpus_read(int kernels[KERNEL_CPUS_MAX]);

#endif
