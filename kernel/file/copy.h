/* Descriptor tables for new processes whose home is this kernel, copied from the parent's table on any kernel. */
#ifndef KERNEL_FILE_COPY_H
#define KERNEL_FILE_COPY_H

#include <stdint.h>

#include "kernel/file/table.h"

struct group;

void copy_init(void);
/* A copy of PARENT's table: descriptors with their flags, working directory, program. -ENOMEM. Tasks only; it waits for
 * other kernels. */
int file_table_fork(struct group *parent, struct file_table **out);
/* As file_table_fork, but descriptor i is the parent's FDS[i], or closed for -1; none has FD_CLOEXEC. -EBADF: one of
 * them is not a descriptor; -EMFILE: too many. */
int file_table_pick(struct group *parent, const int32_t *fds, uint32_t count, struct file_table **out);
/* The same for the group ID whose home is kernel HOME; with FDS NULL all descriptors are copied, as by file_table_fork.
 * -ESRCH: there is no such group. */
int file_table_pick_at(uint32_t home, uint32_t id, const int32_t *fds, uint32_t count, struct file_table **out);

/* Opens the file at PLACE once more; the caller owns that open. -EBADF: the file has been closed; -ENOMEM. Tasks only;
 * waits. */
struct file_place;
int file_share_at(const struct file_place *place);

#endif
