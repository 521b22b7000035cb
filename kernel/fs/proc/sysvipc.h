/* /proc/sysvipc and the limits of System V objects in /proc/sys/kernel. For kernel/fs/proc/proc.c. */
#ifndef KERNEL_FS_PROC_SYSVIPC_H
#define KERNEL_FS_PROC_SYSVIPC_H

#include "kernel/fs/proc/proc.h"

extern const struct proc_directory proc_ipc_directory;

int64_t proc_write_shm_max(const struct proc_at *at, struct text *text);
int64_t proc_write_shm_all(const struct proc_at *at, struct text *text);
int64_t proc_write_shm_count(const struct proc_at *at, struct text *text);

#endif
