/* Files by name, from any kernel. The tree is on kernel 0, which gets one request for each operation
 * (kernel/fs/remote). Files below /proc and /sys exist on the calling kernel, so a walk that reaches them continues
 * here, and a walk that leaves them by a link or ".." goes to kernel 0 again. kernel/fs/tree/tree.md has the protocol.
 * Tasks only: all functions may wait. */
#ifndef KERNEL_FS_NAME_NAME_H
#define KERNEL_FS_NAME_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/wire.h"

struct group;

#define NAME_WORKING_DIRECTORY (-100) /* AT_FDCWD */
#define NAME_TREE INT64_MIN           /* for kernel code: PATH is absolute, whatever the caller's root */

struct name {
    int64_t directory; /* where a relative PATH begins: a descriptor, or one of the constants above */
    const char *path;  /* less than PATH_MAX bytes */
};

struct name_result {
    struct file_place place; /* NAME_OPEN: the caller owns one open of it */
    bool installed;          /* NAME_OPEN with OPEN_INSTALL: the file is descriptor FD already; else PLACE counts */
    int32_t fd;              /* likewise */
    uint64_t version;        /* NAME_OPEN with OPEN_RUN: see node_version */
    struct file_facts facts; /* NAME_STAT, NAME_OPEN with OPEN_RUN */
    char *text; /* heap, PATH_MAX bytes, or NULL: NAME_READ_LINK; NAME_OPEN with OPEN_RUN: the file's name */
};

/* Performs ASKED, whose `start`, `second` and `links` need not be set, with FIRST and SECOND (NULL: one name only).
 * NAME_CREATE ignores SECOND's directory. GROUP NULL: relative names begin at the root. Errors are those of the system
 * calls. */
int64_t name_do(struct group *group, const struct msg_file_name *asked, const struct name *first,
                const struct name *second, struct name_result *result);
/* Applies CHANGE, as the current thread's user, to the file of descriptor FD of GROUP. */
int64_t name_change(struct group *group, int32_t fd, const struct node_change *change);
void name_result_free(struct name_result *result);
/* As open(2), with all flags. -ERESTARTSYS: interrupted while waiting for a FIFO's other end. Of RESULT only the text
 * needs to be freed. */
int64_t name_open(struct group *group, const struct name *name, uint32_t flags, uint32_t mode,
                  struct name_result *result);
/* FLAGS: NAME_NO_FOLLOW, NAME_EMPTY. */
int64_t name_stat(struct group *group, const struct name *name, uint32_t flags, struct file_facts *facts);

#endif
