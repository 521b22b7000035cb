/* What the CPUs of the machine have done, for kernel/fs/proc/proc.c: loadavg, stat and uptime, as proc(5) has them. All
 * is asked of the kernels when it is read. tasks/sched/scheduling.md has what the averages are. */
#ifndef KERNEL_FS_PROC_MACHINE_H
#define KERNEL_FS_PROC_MACHINE_H

#include "kernel/fs/proc/proc.h"

int64_t proc_write_load(const struct proc_at *at, struct text *text);
int64_t proc_write_machine(const struct proc_at *at, struct text *text); /* stat */
int64_t proc_write_uptime(const struct proc_at *at, struct text *text);

#endif
