/* Files and descriptors. A group's descriptors live on its home kernel; the others send their operations there
 * (kernel/fs/remote.h). Read-only files of the initramfs and /proc, and the terminal. */
#ifndef KERNEL_FS_FILE_H
#define KERNEL_FS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"

struct group;
struct file;

#define FILE_TYPE_MASK 0170000u
#define FILE_DIRECTORY 0040000u
#define FILE_REGULAR 0100000u
#define FILE_CHARACTER 0020000u

#define OPEN_ACCESS 3u /* O_RDONLY 0, O_WRONLY 1, O_RDWR 2 */
#define OPEN_CREATE 0100u
#define OPEN_EXCLUSIVE 0200u
#define OPEN_TRUNCATE 01000u
#define OPEN_DIRECTORY 0200000u

struct file_facts { /* what stat tells */
    uint64_t inode, size, device;
    uint32_t mode;
    uint32_t mtime;
};

/* What a kind of file can do. Tasks only: they may wait. Results are byte counts or negative errnos. */
struct file_kind {
    int64_t (*read)(struct file *file, void *data, size_t size, uint64_t offset, const struct group *group);
    int64_t (*write)(struct file *file, const void *data, size_t size);
    bool seekable;
    bool terminal;
};

struct file {
    const struct file_kind *kind; /* [i] */
    struct file_facts facts;      /* [i] */
    uint32_t flags;               /* [i] as open's */
    uint32_t references;          /* under the lock of files */
    uint64_t offset;              /* [k] its table's lock: descriptors that share it move together */
    const void *data;             /* [i] content, where the kind keeps it in memory */
    size_t owned;                 /* [i] bytes of DATA to free with the file, 0: not ours */
};

struct file_table;

void file_init(void);
/* A table whose descriptors 0, 1 and 2 are the terminal, or those of FROM. NULL without memory. */
struct file_table *file_table_create(struct file_table *from);
void file_table_free(void *files);

/* The operations, as Linux's calls of these names. PATH is absolute or starts at the root. */
int64_t file_open(struct file_table *table, const char *path, uint32_t flags);
int64_t file_close(struct file_table *table, int64_t fd);
int64_t file_read(struct file_table *table, int64_t fd, void *data, size_t size, const struct group *group);
int64_t file_write(struct file_table *table, int64_t fd, const void *data, size_t size);
int64_t file_seek(struct file_table *table, int64_t fd, int64_t offset, uint32_t whence);
int64_t file_stat(struct file_table *table, int64_t fd, struct file_facts *facts);
int64_t file_stat_path(const char *path, struct file_facts *facts);
int64_t file_is_terminal(struct file_table *table, int64_t fd);
int64_t file_flags(struct file_table *table, int64_t fd);

/* For the file systems: a file of KIND, or NULL. */
struct file *file_create(const struct file_kind *kind, const struct file_facts *facts, const void *data, size_t owned);
/* Content in memory, read-only. */
extern const struct file_kind file_memory_kind;

#endif
