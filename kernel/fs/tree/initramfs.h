/* The archive that came with the boot image: the tree begins with what is in it. A later entry of the same name
 * replaces an earlier one, as in Linux's initramfs. Kernel 0 only. */
#ifndef KERNEL_FS_TREE_INITRAMFS_H
#define KERNEL_FS_TREE_INITRAMFS_H

#include "kernel/fs/tree/cpio.h"

/* Maps the archive and fills the tree from it. A damaged rest is reported and left out. */
void initramfs_init(void);
/* The entry NAME of the archive itself. -ENOENT. */
int initramfs_find(const char *name, struct cpio_entry *entry);

#endif
