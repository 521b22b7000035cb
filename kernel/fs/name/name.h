/* Files by name, from any kernel. The tree is kernel 0's, which is asked by one message for each operation
 * (kernel/fs/remote); files below /proc are made on the asking kernel, so a walk that reaches /proc continues
 * here, and a walk that leaves it by a link or ".." asks kernel 0 again. kernel/fs/tree/tree.md has the protocol. Tasks
 * only: all functions may wait. */
#ifndef KERNEL_FS_NAME_NAME_H
#define KERNEL_FS_NAME_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/wire.h"

struct group;

#define NAME_WORKING_DIRECTORY (-100) /* AT_FDCWD */
#define NAME_TREE INT64_MIN /* no program's number: PATH is absolute, from the tree's root on, whatever the asker's */

struct name {
    int64_t directory; /* a descriptor, or one of those: where PATH begins, unless with a slash */
    const char *path;  /* below PATH_MAX bytes */
};

struct name_result {
    struct file_place place; /* NAME_OPEN: the caller owns an open of it */
    uint64_t version;        /* NAME_OPEN with OPEN_RUN: see node_version */
    struct file_facts facts; /* NAME_STAT, NAME_OPEN with OPEN_RUN */
    char *text;              /* heap, PATH_MAX bytes, or NULL: NAME_READ_LINK; NAME_OPEN with OPEN_RUN: the name */
};

/* Does ASKED, whose `start`, `second` and `links` are not set, with FIRST and SECOND (NULL: it takes one name).
 * SECOND's directory is not looked at for NAME_CREATE. GROUP NULL: names begin at the root. Errors as the system calls.
 */
int64_t name_do(struct group *group, const struct msg_file_name *asked, const struct name *first,
                const struct name *second, struct name_result *result);
/* Makes CHANGE, for the current thread, to the file that is descriptor FD of GROUP. */
int64_t name_change(struct group *group, int32_t fd, const struct node_change *change);
void name_result_free(struct name_result *result);
/* As open(2), with all flags; -ERESTARTSYS too: interrupted while a FIFO's other end is waited for. Of RESULT only the
 * text needs to be freed. */
int64_t name_open(struct group *group, const struct name *name, uint32_t flags, uint32_t mode,
                  struct name_result *result);
/* FLAGS: NAME_NO_FOLLOW, NAME_EMPTY. */
int64_t name_stat(struct group *group, const struct name *name, uint32_t flags, struct file_facts *facts);

#endif
