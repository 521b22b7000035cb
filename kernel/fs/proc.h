/* /proc/kettle: what the machine knows about itself, as text made when a file is opened.
 * plan: the partition plan. kernels: which run. messages: counts per kernel and type. syscalls: calls answered ENOSYS.
 */
#ifndef KERNEL_FS_PROC_H
#define KERNEL_FS_PROC_H

#include <stdint.h>

#include "kernel/fs/file.h"

void proc_init(void);
/* Names are as path_normalize writes them. -ENOENT: not below /proc; -EISDIR; -ENOMEM. Tasks only: asks the other
 * kernels. */
int64_t proc_open(const char *path, struct file **out);
int64_t proc_stat(const char *path, struct file_facts *facts);

#endif
