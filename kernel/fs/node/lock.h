/* Locks on regular files: fcntl's, of processes and of open files, and flock's. The node has them, on its
 * kernel. A caller that has to wait gets -EAGAIN and waits for the node's events. kernel/fs/node/content.md has the
 * tables.
 */
#ifndef KERNEL_FS_NODE_LOCK_H
#define KERNEL_FS_NODE_LOCK_H

#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"
#include "kernel/fs/node/node.h"

/* FILE_LOCK: EXTRA is enum file_lock_how; LOCK what is asked for, and the answer of LOCK_TEST; what was set has a range
 * from the file's beginning then. -EAGAIN, -EDEADLK, -EBADF, -EINVAL, -EOVERFLOW, -ENOLCK. Never waits. */
int64_t node_lock(struct file *file, struct node *node, uint32_t how, struct file_lock *lock,
                  struct file_answer *answer);
/* FILE, of NODE, is closed for good. */
void node_lock_release(struct file *file, struct node *node);
/* Registers FILE_LOCK_OVER. Once. */
void node_lock_init(void);

#endif
