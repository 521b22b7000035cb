/* Open regular files, whose bytes are the content of a node. Kernel 0. */
#ifndef KERNEL_FS_NODE_REGULAR_H
#define KERNEL_FS_NODE_REGULAR_H

#include "kernel/file/file.h"
#include "kernel/fs/node/node.h"

/* Opens NODE, taking a reference to it, with the flags of open. O_TRUNC is done by FILE_RESIZE. -ENOMEM.
 *
 * A file is written or executed, as under Linux (deny_write_access): node->writers counts the open files that may
 * write, but not those with OPEN_UNCOUNTED, and node->runs the open files with OPEN_RUN, of which each process has one
 * of its program. While there is one of the one sort, -ETXTBSY for the other, and for O_TRUNC. */
int regular_open(struct node *node, uint32_t flags, struct file **out);

#endif
