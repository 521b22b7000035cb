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
    struct file *directory;         /* [k] the working directory, with an open; NULL: the root */
    struct file *root;              /* [k] of chroot(2), with an open; NULL: the tree's */
    char *program;                  /* [k] the executable's path; NULL: not known */
    struct file_table *descriptors; /* [i] while it has users: whose descriptors these are: its own, or another's */
    struct file_table *directories; /* the same of the working directory and the root */
    uint32_t sharers;               /* [a] tables that have the one or the other from here */
    uint32_t holders;               /* [a] processes whose descriptors these are: the last one's end closes them */
    uint16_t count;   /* [i] of descriptor_cache.h: of its descriptors, others' tables have it from there */
    bool left;        /* [a] its process has ended, or has another one */
    uint32_t undo;    /* [a] its process, once that has asked for semaphores to be undone at its end */
    uint32_t process; /* [a] whose it is, once that has had locks on files; else 0 */
};

/* An empty table; NULL without memory. */
struct file_table *file_table_new(void);
/* A table whose descriptors 0, 1 and 2 are TERMINAL, an open of which goes to it. NULL without memory. */
struct file_table *file_table_create(struct file *terminal);
/* FILES is a struct file_table, of which one user is gone; with the last one all descriptors are closed. */
void file_table_free(void *files);
/* The table of GROUP with one user more, or NULL: it has none here, or is over. */
struct group;
struct file_table *file_table_of(struct group *group);
/* The process ends: its locks go. Tasks only; waits. */
void file_table_unlock(struct file_table *table);
/* Frees a table that is not to be used after all, and closes nothing. */
void file_table_forget(struct file_table *table);
/* FILE, an open of which goes to the table, is the working directory from now on. */
void file_table_set_working_directory(struct file_table *table, struct file *file);
/* The same for its root, and all who share it know. */
void file_table_set_root(struct file_table *table, struct file *file);
/* Remembers PATH as the executable. -ENOMEM. */
int file_table_set_program(struct file_table *table, const char *path);
/* Copies it, or "", to OUT. Returns its length; -ERANGE: SIZE is too small. */
int64_t file_table_program(struct file_table *table, char *out, size_t size);

/* Descriptors are below COUNT from now on, and below TABLE_MAX; those that are there stay. No file is written, or made
 * longer, above BYTES. Any context. */
void file_table_limit(struct file_table *table, uint64_t count, uint64_t bytes);

#endif
