/* Descriptors and working directories that processes share: CLONE_FILES and CLONE_FS without CLONE_THREAD. Each process
 * has a table of its own, which says whose descriptors, and whose directory, are its; they are at home on one kernel.
 */
#ifndef KERNEL_FILE_TABLE_SHARE_H
#define KERNEL_FILE_TABLE_SHARE_H

#include <stdbool.h>

#include "kernel/file/table.h"

struct group;

/* A table for a child of PARENT, whose home this kernel is, with its descriptors (FILES) and its directory (DIRECTORY),
 * or copies of those. -ENOMEM. Tasks only. */
int file_table_share(struct group *parent, bool files, bool directory, struct file_table **out);
/* GROUP, the current thread's, whose home this kernel is and which has one thread, gets descriptors of its own, if it
 * shares any: for exec and close_range. -ENOMEM. */
int file_table_unshare(struct group *group);
/* The process of TABLE ends, or has another table: one user less. Any context without locks. */
void file_table_leave(struct file_table *table);
/* TABLE gives back what it has of others. Any context without locks. */
void file_table_part(struct file_table *table);
/* Something of TABLE, of the group or of another, is shared. */
bool file_table_is_shared(const struct file_table *table);

#endif
