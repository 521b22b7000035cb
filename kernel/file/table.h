/* Descriptor tables: which file each number of a process is. The table is at the process's home; operations from other
 * kernels come there (kernel/file/remote.h). Each descriptor holds one open of its file, or of the proxy of one that is
 * on another kernel. Any context; nothing here waits. */
#ifndef KERNEL_FILE_TABLE_H
#define KERNEL_FILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/file/file.h"

#define TABLE_MAX 1024 /* descriptors of one process */

struct descriptor {
    struct file *file; /* NULL: free */
    uint32_t flags;    /* DESCRIPTOR_CLOEXEC or 0 */
};

/* Marks: [k] under the lock. */
struct file_table {
    struct spinlock lock;
    uint32_t size;                  /* [k] slots allocated */
    uint32_t lowest;                /* [k] no free slot is below */
    uint32_t limit;                 /* [a] descriptors are below it */
    uint64_t file_limit;            /* [a] bytes that a file may have by its writes: RLIMIT_FSIZE */
    uint32_t users;                 /* [a] the group, and whoever looks at it from outside */
    struct descriptor *slots;       /* [k] */
    struct file *folder;            /* [k] the working directory, with an open; NULL: the root */
    struct file *root;              /* [k] of chroot(2), with an open; NULL: the tree's */
    char *program;                  /* [k] the executable's path; NULL: not known */
    struct file_table *descriptors; /* [i] while it has users: whose descriptors these are: its own, or another's */
    struct file_table *folders;     /* the same of the working directory and the root */
    uint32_t sharers;               /* [a] tables that have the one or the other from here */
    uint32_t holders;               /* [a] processes whose descriptors these are: the last one's end closes them */
    uint16_t count;                 /* [i] of known.h: of its descriptors, others' tables have it from there */
    bool left;                      /* [a] its process has ended, or has another one */
    uint32_t undo;                  /* [a] its process, once that has asked for semaphores to be undone at its end */
    uint32_t process;               /* [a] whose it is, once that has had locks on files; else 0 */
};

/* An empty table; NULL without memory. */
struct file_table *file_table_new(void);
/* A table whose descriptors 0, 1 and 2 are the terminal. Kernel 0 only. NULL without memory. */
struct file_table *file_table_create(void);
/* FILES is a struct file_table, of which one user is gone; with the last one all descriptors are closed. */
void file_table_free(void *files);
/* The table of GROUP with one user more, or NULL: it has none here, or is over. */
struct group;
struct file_table *file_table_of(struct group *group);
/* Its process asks for LOCK, perhaps, on FILE: when it closes that, locks are to go. */
struct file_lock;
void table_note_lock(struct file_table *table, const struct file_lock *lock);
/* The process may have locks on FILE, by whichever descriptor. */
bool table_has_locks(const struct file_table *table, const struct file *file);
/* The process ends: its locks go, and what it asked to be undone is. Tasks only; waits. */
void file_table_unlock(struct file_table *table);
/* Frees a table that is not to be used after all, and closes nothing. */
void file_table_forget(struct file_table *table);
/* Closes the descriptors with DESCRIPTOR_CLOEXEC: for exec. Tasks only; waits for the locks that go with them. */
void file_table_exec(struct file_table *table);
/* FILE, an open of which goes to the table, is the working directory from now on. */
void file_table_set_folder(struct file_table *table, struct file *file);
/* The same for its root, and all who share it know. */
void file_table_set_root(struct file_table *table, struct file *file);
/* Remembers PATH as the executable. -ENOMEM. */
int file_table_set_program(struct file_table *table, const char *path);
/* Copies it, or "", to OUT. Returns its length; -ERANGE: SIZE is too small. */
int64_t file_table_program(struct file_table *table, char *out, size_t size);

/* Descriptors are below COUNT from now on, and below TABLE_MAX; those that are there stay. No file is written, or made
 * longer, above BYTES. Any context. */
void file_table_limit(struct file_table *table, uint64_t count, uint64_t bytes);
/* The file of FD, or of FILE_FOLDER or FILE_ROOT, with a pin, or NULL. */
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

#endif
