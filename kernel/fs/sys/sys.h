/* /sys: what the partition plan knows of CPUs and NUMA nodes, as sysfs has it. One of the trees of kernel/fs/proc. */
#ifndef KERNEL_FS_SYS_SYS_H
#define KERNEL_FS_SYS_SYS_H

#include "kernel/fs/proc/proc.h"

extern const struct proc_directory sys_directory;
/* Adds /sys to the trees of kernel/fs/proc/proc.h. Every kernel, once. */
void sys_init(void);

#endif
