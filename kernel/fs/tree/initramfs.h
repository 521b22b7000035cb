/* The archive that came with the boot image, which is the initial content of the tree. A later entry of the same name
 * replaces an earlier one, as in Linux's initramfs. Kernel 0 only. */
#ifndef KERNEL_FS_TREE_INITRAMFS_H
#define KERNEL_FS_TREE_INITRAMFS_H

#include "kernel/fs/tree/cpio.h"

/* Maps the archive and fills the tree from it. If the archive is damaged, the rest is reported and skipped. */
void initramfs_init(void);
/* Finds the entry NAME of the archive itself; the last one, if there are several. -ENOENT. */
int initramfs_find(const char *name, struct cpio_entry *entry);

#endif
