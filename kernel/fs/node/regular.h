/* Open regular files, whose bytes are the content of a node. Kernel 0. */
#ifndef KERNEL_FS_NODE_REGULAR_H
#define KERNEL_FS_NODE_REGULAR_H

#include "kernel/file/file.h"
#include "kernel/fs/node/node.h"

extern const struct file_kind file_regular_kind;

/* Opens NODE, taking a reference to it, with the flags of open; NULL without memory. Ignores O_TRUNC, which is done by
 * FILE_RESIZE. */
struct file *regular_open(struct node *node, uint32_t flags);

#endif
