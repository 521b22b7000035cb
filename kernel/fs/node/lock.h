/* Locks on regular files: those of fcntl, of processes and of open files, and those of flock. They are kept with the
 * node, on its kernel. A caller that has to wait gets -EAGAIN and waits for the node's events.
 * kernel/fs/node/content.md has the tables. */
#ifndef KERNEL_FS_NODE_LOCK_H
#define KERNEL_FS_NODE_LOCK_H

#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"
#include "kernel/fs/node/node.h"

/* Performs FILE_LOCK. HOW is enum file_lock_how, and LOCK is the request. On return LOCK holds the answer of LOCK_TEST,
 * or the range that was set, counted from the beginning of the file. -EAGAIN, -EDEADLK, -EBADF, -EINVAL, -EOVERFLOW,
 * -ENOLCK. Never waits. */
int64_t node_lock(struct file *file, struct node *node, uint32_t how, struct file_lock *lock,
                  struct file_answer *answer);
/* Removes the locks taken through FILE, of NODE, which is closed for good. */
void node_lock_release(struct file *file, struct node *node);
/* KERNEL has died: removes the locks that processes at home there have on the node of FILE, and all their waits for
 * locks. */
void node_lock_lost(struct file *file, uint32_t kernel);
/* Registers the handler of FILE_LOCK_OVER. Called once. */
void node_lock_init(void);

#endif
