/* The descriptors of a table (table.h): finding, adding, copying and closing them. Any context; nothing here waits
 * unless it says so. */
#ifndef KERNEL_FILE_DESCRIPTOR_H
#define KERNEL_FILE_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

struct file;
struct file_table;

/* The file of FD, or of FILE_WORKING_DIRECTORY or FILE_ROOT, with a pin, or NULL. */
struct file *table_find(struct file_table *table, int64_t fd);
/* Puts FILE, one open of which goes to the table, at the lowest free descriptor from LEAST on. -EMFILE, -EINVAL
 * (LEAST), -ENOMEM: then the open has been closed. */
int64_t table_add(struct file_table *table, struct file *file, int64_t least, uint32_t flags);
/* Puts FILE at FD, which is free: for a table in the making. -EINVAL, -ENOMEM; then the open is still the caller's. */
int table_put(struct file_table *table, int64_t fd, struct file *file, uint32_t flags);
/* Makes room for SIZE descriptors, at most TABLE_MAX. -ENOMEM. */
int table_reserve(struct file_table *table, uint32_t size);
/* These answer as close, dup, fcntl(F_DUPFD), dup3 (without its check for equal numbers), F_GETFD and F_SETFD. Of what
 * they close the locks have gone before. */
int64_t table_close(struct file_table *table, int64_t fd);
int64_t table_duplicate(struct file_table *table, int64_t fd, int64_t least, uint32_t flags);
/* FD is below what the process may have: what is below may be replaced, or made. */
bool table_may_have(const struct file_table *table, int64_t fd);
int64_t table_duplicate_to(struct file_table *table, int64_t fd, int64_t to, uint32_t flags);
/* Writes descriptors that are open, from FROM on, ascending, to FDS (at most COUNT); returns how many. */
uint32_t table_list(struct file_table *table, int64_t from, int32_t *fds, uint32_t count);
int64_t table_get_flags(struct file_table *table, int64_t fd);
int64_t table_set_flags(struct file_table *table, int64_t fd, uint32_t flags);
/* As close_range; ONLY_MARK: with CLOSE_RANGE_CLOEXEC. Stops, with 0, at *STOPPED, a descriptor of a file on which
 * there may be locks: they are to go before. They have of descriptor GONE, if that is not -1. *STOPPED is -1: all is
 * done. */
int64_t table_close_range(struct file_table *table, uint32_t first, uint32_t last, bool only_mark, int64_t gone,
                          int64_t *stopped);
/* Closes all; locks go soon. */
void table_close_all(struct file_table *table);
/* Closes the descriptors with DESCRIPTOR_CLOEXEC: for exec. Tasks only; waits for the locks that go with them. */
void file_table_exec(struct file_table *table);

/* --- locks, which go when a descriptor is closed --- */

/* Its process asks for LOCK, perhaps, on FILE: when it closes that, locks are to go. */
struct file_lock;
void table_note_lock(struct file_table *table, const struct file_lock *lock);
/* The process may have locks on FILE, by whichever descriptor. */
bool table_has_locks(const struct file_table *table, const struct file *file);
/* One open less of FILE, which was in TABLE: its process has no lock on it any more. */
void table_let_go(const struct file_table *table, struct file *file);

#endif
