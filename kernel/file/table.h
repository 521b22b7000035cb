/* Descriptor tables map a process's descriptors to files. The table is at the process's home, to which other kernels
 * send operations on it (kernel/file/remote.h). Each descriptor holds one open of its file, or of the proxy for a file
 * of another kernel. Any context; nothing here waits. */
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
    uint32_t users;                 /* [a] the group, and others that use the table for a moment */
    struct descriptor *slots;       /* [k] */
    struct file *directory;         /* [k] the working directory, with an open; NULL: the root */
    struct file *root;              /* [k] of chroot(2), with an open; NULL: the tree's */
    char *program;                  /* [k] the executable's path; NULL: not known */
    struct file_table *descriptors; /* [i] while it has users: the table with its descriptors, itself or another */
    struct file_table *directories; /* the same for the working directory and the root */
    uint32_t sharers;               /* [a] tables that share the descriptors or directories here */
    uint32_t holders;               /* [a] processes that use these descriptors; the end of the last closes them */
    uint16_t count;                 /* [i] of its descriptors, see descriptor_cache.h; tables that share them use it */
    bool left;                      /* [a] its process has ended, or has another table */
    uint32_t undo;                  /* [a] its process, once that has used SEM_UNDO; else 0 */
    uint32_t process;               /* [a] its process, once that has had locks on files; else 0 */
};

/* An empty table; NULL without memory. */
struct file_table *file_table_new(void);
/* A table whose descriptors 0, 1 and 2 are TERMINAL, which owns an open of TERMINAL. NULL without memory. */
struct file_table *file_table_create(struct file *terminal);
/* Drops a user of FILES, a struct file_table; with the last one all descriptors are closed. */
void file_table_free(void *files);
/* The table of GROUP with another user, or NULL: it has none here, or has ended. */
struct group;
struct file_table *file_table_of(struct group *group);
/* The process ends: removes its locks. Tasks only; waits. */
void file_table_unlock(struct file_table *table);
/* Frees a table that was never used, without closing anything. */
void file_table_forget(struct file_table *table);
/* Makes FILE the working directory; the table takes over an open of it. */
void file_table_set_working_directory(struct file_table *table, struct file *file);
/* The same for the root, of all processes that share it. */
void file_table_set_root(struct file_table *table, struct file *file);
/* Remembers PATH as the executable. -ENOMEM. */
int file_table_set_program(struct file_table *table, const char *path);
/* Copies it, or "", to OUT. Returns its length; -ERANGE: SIZE is too small. */
int64_t file_table_program(struct file_table *table, char *out, size_t size);

/* Sets the limits: new descriptors are below COUNT and below TABLE_MAX, open ones stay; no file is written or made
 * longer beyond BYTES. Any context. */
void file_table_limit(struct file_table *table, uint64_t count, uint64_t bytes);

#endif
