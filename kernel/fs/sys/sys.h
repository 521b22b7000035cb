/* /sys: CPUs and NUMA nodes of the partition plan, in the format of sysfs. One of the trees of kernel/fs/proc. */
#ifndef KERNEL_FS_SYS_SYS_H
#define KERNEL_FS_SYS_SYS_H

#include "kernel/fs/proc/proc.h"

extern const struct proc_directory sys_directory;
/* Sets the weight of NODE, which exists, on all kernels to the number TEXT of SIZE bytes, which is not 0; 0 or a
 * newline alone: to the default. Returns SIZE; -EINVAL: it is not such a number; an error of control_everywhere. Tasks
 * only; waits for the other kernels. */
int64_t sys_set_weight(uint32_t node, const char *text, size_t size);
/* Adds /sys to the trees of kernel/fs/proc/proc.h. Called once on every kernel. */
void sys_init(void);

#endif
