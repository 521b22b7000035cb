/* /sys: what the partition plan knows of CPUs and NUMA nodes, as sysfs has it. For kernel/fs/proc/proc.c. */
#ifndef KERNEL_FS_SYS_SYS_H
#define KERNEL_FS_SYS_SYS_H

#include "kernel/fs/proc/proc.h"

extern const struct proc_directory sys_directory;

/* The first COUNT bits as hexadecimal digits, in groups of 32. */
void sys_put_mask(struct text *text, const uint64_t *bits, uint32_t count);

#endif
