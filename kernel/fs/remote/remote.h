/* Operations on names of the tree, from any kernel: each is one request (NAME_OPEN and others) to kernel 0, which has
 * the tree and the shares mounted in it. kernel/fs/tree/tree.md has the protocol. Tasks only: every function may wait.
 */
#ifndef KERNEL_FS_REMOTE_REMOTE_H
#define KERNEL_FS_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/fs/tree/tree.h"

/* Registers the message handler. Called once on every kernel. */
void tree_remote_init(void);
/* Performs ASKED for the current thread's user, as tree_do does, but waits for a name that leads into a share, so
 * RESULT->waits is never set. With WHOLE, names start at the root of the tree even if the caller has another root
 * (chroot). */
int64_t tree_ask(const struct msg_file_name *asked, const char *first, const char *second, bool whole,
                 struct tree_result *result);
/* Writes to NAME (ROOM bytes) the name of the file that programs have mapped as OBJECT of KERNEL (mm/area/backing.h),
 * or "" if the file has no name. -ENOENT, -ENOMEM. */
int64_t tree_ask_mapped(uint32_t kernel, uint32_t object, char *name, size_t room, struct file_facts *facts);

#endif
