/* /sys: CPUs and NUMA nodes of the partition plan, in the format of sysfs. One of the trees of kernel/fs/proc. */
#ifndef KERNEL_FS_SYS_SYS_H
#define KERNEL_FS_SYS_SYS_H

#include "kernel/fs/proc/proc.h"

extern const struct proc_directory sys_directory;
/* Adds /sys to the trees of kernel/fs/proc/proc.h. Called once on every kernel. */
void sys_init(void);

#endif
