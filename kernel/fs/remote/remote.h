/* Names of the tree of files, from any kernel: kernel 0, which has the tree and the shares in it, is asked by one
 * message for each operation (NAME_OPEN and others). kernel/fs/tree/tree.md has the protocol. Tasks only: all of it may
 * wait. */
#ifndef KERNEL_FS_REMOTE_REMOTE_H
#define KERNEL_FS_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/fs/tree/tree.h"

/* Does ASKED for the current thread's user, as tree_do; RESULT->waits is not set: a name that leads into a share was
 * waited for. WHOLE: as if the asker had no other root. */
int64_t tree_ask(const struct msg_file_name *asked, const char *first, const char *second, bool whole,
                 struct tree_result *result);
/* Writes the name of the file that programs have mapped as OBJECT of KERNEL (mm/area/backing.h) to NAME, ROOM bytes, ""
 * if it has none. -ENOENT, -ENOMEM. */
int64_t tree_ask_mapped(uint32_t kernel, uint32_t object, char *name, size_t room, struct file_facts *facts);

#endif
