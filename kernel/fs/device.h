/* /dev: null, zero and full, which are files of whoever opens them, and the names of the terminal, which is kernel 0's.
 */
#ifndef KERNEL_FS_DEVICE_H
#define KERNEL_FS_DEVICE_H

#include "kernel/fs/directory.h"

/* NAME is below dev/, without that. */
bool device_is_terminal(const char *name);
/* -ENOENT: no such device, or the terminal; -ENOTDIR: below a device. */
int64_t device_stat(const char *name, struct file_facts *facts);
int64_t device_open(const char *name, uint32_t flags, struct file **out);
void device_list(struct directory *to);

#endif
