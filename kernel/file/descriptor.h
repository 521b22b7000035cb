/* The descriptors of a table (table.h): finding, adding, copying and closing them. Any context; the functions do
 * not wait unless they say so. */
#ifndef KERNEL_FILE_DESCRIPTOR_H
#define KERNEL_FILE_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

struct file;
struct file_table;

/* The file of FD, or of FILE_WORKING_DIRECTORY or FILE_ROOT, with a pin, or NULL. */
struct file *table_find(struct file_table *table, int64_t fd);
/* Puts FILE at the lowest free descriptor from LEAST on; the table takes over one open of FILE. On an error, -EMFILE,
 * -EINVAL (LEAST) or -ENOMEM, the open has been closed. */
int64_t table_add(struct file_table *table, struct file *file, int64_t least, uint32_t flags);
/* Puts FILE at FD, which is free, of a table that is being made. On an error, -EINVAL or -ENOMEM, the caller still owns
 * the open. */
int table_put(struct file_table *table, int64_t fd, struct file *file, uint32_t flags);
/* Makes room for SIZE descriptors, at most TABLE_MAX. -ENOMEM. */
int table_reserve(struct file_table *table, uint32_t size);
/* These return what close, dup, fcntl(F_DUPFD), dup3 (without its check for equal numbers), F_GETFD and F_SETFD return.
 * The caller has removed the process's locks on files that they close. */
int64_t table_close(struct file_table *table, int64_t fd);
int64_t table_duplicate(struct file_table *table, int64_t fd, int64_t least, uint32_t flags);
/* Is FD below the process's RLIMIT_NOFILE, so that it may be made or replaced? */
bool table_may_have(const struct file_table *table, int64_t fd);
int64_t table_duplicate_to(struct file_table *table, int64_t fd, int64_t to, uint32_t flags);
/* Writes the open descriptors from FROM on to FDS in ascending order, at most COUNT; returns how many. */
uint32_t table_list(struct file_table *table, int64_t from, int32_t *fds, uint32_t count);
int64_t table_get_flags(struct file_table *table, int64_t fd);
int64_t table_set_flags(struct file_table *table, int64_t fd, uint32_t flags);
/* As close_range; ONLY_MARK: with CLOSE_RANGE_CLOEXEC. Returns 0 with *STOPPED -1 when all are closed. It stops early,
 * with *STOPPED a descriptor, when the process may have locks on that descriptor's file: the caller removes them and
 * calls again with the descriptor as GONE (at first -1). */
int64_t table_close_range(struct file_table *table, uint32_t first, uint32_t last, bool only_mark, int64_t gone,
                          int64_t *stopped);
/* Closes all descriptors; their locks are removed soon afterwards, by file_unlock_later. */
void table_close_all(struct file_table *table);
/* Closes the descriptors with DESCRIPTOR_CLOEXEC: for exec. Tasks only; waits until their locks are removed. */
void file_table_exec(struct file_table *table);

/* --- locks, which are removed when a descriptor is closed --- */

/* The table's process may be asking for LOCK: from now on, closing a descriptor has to remove locks. */
struct file_lock;
void table_note_lock(struct file_table *table, const struct file_lock *lock);
/* May the process have locks on FILE, set through any of its descriptors? */
bool table_has_locks(const struct file_table *table, const struct file *file);
/* Drops an open of FILE that was in TABLE. The process's locks on FILE are removed first, or, if FILE is of another
 * kernel, by a message that is sent first. */
void table_let_go(const struct file_table *table, struct file *file);

#endif
