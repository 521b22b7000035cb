/* Whole executables in one piece of memory, on any kernel. One that is as the boot image has it is read there on kernel
 * 0; any other is read once and kept, up to a bound, as long as it does not change. */
#ifndef KERNEL_FS_LOAD_H
#define KERNEL_FS_LOAD_H

#include <stddef.h>

#include "kernel/fs/name.h"

struct group;

struct loaded {
    const void *data;
    size_t size;
    void *held;              /* what is kept of it, or NULL */
    struct file_place place; /* the file, of which there is an open; id 0: none */
    uint32_t mode, uid, gid; /* as stat tells */
    char *path;              /* its absolute name when it was opened, heap, PATH_MAX bytes, perhaps "" */
};

void load_init(void);
/* The content of the executable NAME (GROUP NULL: it begins at the root), until file_unload, also after an error.
 * Errors as execve: -ENOENT, -ENOTDIR, -EACCES (a directory, or not executable), -ELOOP, -ENAMETOOLONG, -ENOMEM (also:
 * larger than 4 MiB and not as in the boot image, or this is not kernel 0). Tasks only. */
int file_load(struct group *group, const struct name *name, struct loaded *out);
void file_unload(struct loaded *loaded);

#endif
