/* loadavg, stat and uptime, as in proc(5), for kernel/fs/proc/proc.c. Every read asks all kernels.
 * tasks/sched/scheduling.md defines the averages. */
#ifndef KERNEL_FS_PROC_MACHINE_H
#define KERNEL_FS_PROC_MACHINE_H

#include "kernel/fs/proc/proc.h"

int64_t proc_write_load(const struct proc_at *at, struct text *text);
int64_t proc_write_machine(const struct proc_at *at, struct text *text); /* stat */
int64_t proc_write_uptime(const struct proc_at *at, struct text *text);

#endif
