/* The files that came with the boot image: a cpio archive in memory, read-only. A later entry of the same name hides an
 * earlier one, as in Linux's initramfs. Kernel 0 only. */
#ifndef KERNEL_FS_INITRAMFS_H
#define KERNEL_FS_INITRAMFS_H

#include "kernel/fs/cpio.h"
#include "kernel/fs/directory.h"

/* Maps and indexes the archive. A damaged rest is reported and left out. */
void initramfs_init(void);
/* Names are as path_normalize writes them.
 * -ENOENT; -ENOTDIR: a file is used as a directory; -EISDIR: a directory; -ENOMEM. */
int64_t initramfs_open(const char *name, uint32_t flags, struct file **out);
int64_t initramfs_stat(const char *name, struct file_facts *facts);
/* Adds what is in the directory NAME. */
void initramfs_list(const char *name, struct directory *to);
/* The file that programs have mapped as OBJECT: its name, which stays, and what stat tells. -ENOENT. */
int64_t initramfs_mapped(uint64_t object, const char **name, struct file_facts *facts);
/* The entry itself, for the loader: -ENOENT, -ENOTDIR, -EISDIR. */
int64_t initramfs_find(const char *name, struct cpio_entry *entry);

#endif
