/* Open regular files: those whose bytes are in a node's content. Kernel 0. */
#ifndef KERNEL_FS_NODE_REGULAR_H
#define KERNEL_FS_NODE_REGULAR_H

#include "kernel/file/file.h"
#include "kernel/fs/node/node.h"

extern const struct file_kind file_regular_kind;

/* An open file of NODE, which gets one reference more, with the flags of open; or NULL without memory. O_TRUNC is not
 * done: FILE_RESIZE. */
struct file *regular_open(struct node *node, uint32_t flags);

#endif
