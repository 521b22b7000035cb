/* /proc/PID/fdinfo/N, whose descriptor is at->keys[1] of process at->keys[0]. */
#ifndef KERNEL_FS_PROC_DESCRIPTOR_H
#define KERNEL_FS_PROC_DESCRIPTOR_H

#include "kernel/fs/proc/proc.h"

extern const struct proc_directory descriptor_info;

#endif
