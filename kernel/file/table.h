/* Descriptor tables map a process's descriptors to files. The table is at the process's home, to which other kernels
 * send operations on it (kernel/file/remote.h). Each descriptor holds one open of its file, or of the proxy for a file
 * of another kernel. Any context, and nothing waits, unless a function says otherwise. */
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
    uint32_t lowest;                /* [k] no slot below it is free */
    uint32_t limit;                 /* [a] new descriptors are below it: RLIMIT_NOFILE */
    uint64_t file_limit;            /* [a] RLIMIT_FSIZE in bytes; UINT64_MAX: none */
    uint32_t users;                 /* [a] references: the group, tables that share with it, and temporary users */
    struct descriptor *slots;       /* [k] */
    struct file *directory;         /* [k] the working directory, with an open; NULL: none was set */
    struct file *root;              /* [k] of chroot(2), with an open; NULL: the tree's root */
    char *program;                  /* [k] the executable's path; NULL: not known */
    struct file *executable;        /* [k] its file, with an open, as long as the process runs it; NULL: none is kept */
    struct file_table *descriptors; /* [i] until file_table_part: the table with its descriptors, itself or another */
    struct file_table *directories; /* the same for the working directory and the root */
    uint32_t sharers;               /* [a] other tables that share this table's descriptors or directories */
    uint32_t holders;               /* [a] processes that use these descriptors; the last one to leave closes them */
    uint16_t count;                 /* [i] of its descriptors, see descriptor_cache.h; tables that share them use it */
    uint16_t directory_count;       /* [i] the same of its working directory, which changes less often */
    bool left;                      /* [a] its process has ended, or has another table */
    uint32_t undo;                  /* [a] its process, if that has used SEM_UNDO; else 0 */
    bool counted, counted_directories; /* while the opens of files are counted: kernel/file/move/lost.c */
    uint32_t process;                  /* [a] its process, if that has used locks on files; else 0 */
};

/* An empty table; NULL without memory. */
struct file_table *file_table_new(void);
/* A table whose descriptors 0, 1 and 2 are TERMINAL; it takes over an open of TERMINAL. NULL without memory. */
struct file_table *file_table_create(struct file *terminal);
/* Drops a user of FILES, a struct file_table; the last one closes all descriptors. */
void file_table_free(void *files);
/* The table of GROUP with one more user, or NULL: this kernel is not its home, or it has ended. */
struct group;
struct file_table *file_table_of(struct group *group);
/* Removes the locks of TABLE's process, which ends. Tasks only; waits. */
void file_table_unlock(struct file_table *table);
/* Frees a table that was never used, without closing anything. */
void file_table_forget(struct file_table *table);
/* Makes FILE the working directory; the table takes over an open of it. */
void file_table_set_working_directory(struct file_table *table, struct file *file);
/* The same for the root. Both apply to all processes that share TABLE's directories. */
void file_table_set_root(struct file_table *table, struct file *file);
/* Remembers PATH as the executable. -ENOMEM. */
int file_table_set_program(struct file_table *table, const char *path);
/* Makes FILE, or none if it is NULL, the open file of the executable; the table takes over an open of it. While there
 * is one, nobody opens the executable to write to it (kernel/fs/node/regular.h). Any context. */
void file_table_set_executable(struct file_table *table, struct file *file);
/* Copies it, or "", to OUT. Returns its length; -ERANGE: SIZE is too small. */
int64_t file_table_program(struct file_table *table, char *out, size_t size);

/* Sets the limits: new descriptors are below COUNT and below TABLE_MAX, open ones stay; no file is written or made
 * longer beyond BYTES. Any context. */
void file_table_limit(struct file_table *table, uint64_t count, uint64_t bytes);

#endif
