/* Open directories of the tree, and files that are open only as places in it (O_PATH). */
#ifndef KERNEL_FS_TREE_FILE_H
#define KERNEL_FS_TREE_FILE_H

#include "kernel/file/file.h"

/* Opens NODE, a directory, or any node with OPEN_PATH. NULL without memory. */
struct file *tree_file_open(struct node *node, uint32_t flags);

#endif
