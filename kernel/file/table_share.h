/* Descriptors and working directories that processes share: CLONE_FILES and CLONE_FS without CLONE_THREAD. Each process
 * has a table of its own, which refers to the tables that have its descriptors and its directories; all of them have
 * the same home. */
#ifndef KERNEL_FILE_TABLE_SHARE_H
#define KERNEL_FILE_TABLE_SHARE_H

#include <stdbool.h>

#include "kernel/file/table.h"

struct group;

/* A table for a child of PARENT, whose home this kernel is. The child shares the parent's descriptors with FILES, and
 * its directories with DIRECTORY; else it gets copies. -ENOMEM. Tasks only. */
int file_table_share(struct group *parent, bool files, bool directory, struct file_table **out);
/* GROUP, the current thread's, whose home this kernel is and which has one thread, gets descriptors of its own, if it
 * shares any: for exec and close_range. -ENOMEM. */
int file_table_unshare(struct group *group);
/* The process of TABLE ends, or has got another table: drops its use of the descriptors, and a user. Any context
 * without locks. */
void file_table_leave(struct file_table *table);
/* Drops TABLE's use of its descriptors, and its references to the tables with which it shares. Any context without
 * locks. */
void file_table_part(struct file_table *table);
/* Does TABLE share descriptors or directories, its own or those of another table? */
bool file_table_is_shared(const struct file_table *table);

#endif
