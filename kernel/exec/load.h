/* Executables in memory, on any kernel, as far as they are needed to run them. One that is as the boot image has it is
 * read there on kernel 0; any other is read once and kept, up to a bound, as long as it does not change. */
#ifndef KERNEL_EXEC_LOAD_H
#define KERNEL_EXEC_LOAD_H

#include <stddef.h>

#include "kernel/fs/name/name.h"
#include "tasks/program/elf.h"

struct group;

struct loaded {
    struct elf_file file;    /* its bytes; points into this struct, which is not to be moved */
    const uint8_t *archive;  /* the boot image's copy, or NULL */
    void *held;              /* what is kept of it, or NULL */
    struct file_place place; /* the file, of which there is an open; id 0: none */
    uint32_t mode, uid, gid; /* as stat tells */
    char *path;              /* its absolute name when it was opened, heap, PATH_MAX bytes, perhaps "" */
};

void load_init(void);
/* The content of the executable NAME (GROUP NULL: it begins at the root), until file_unload, also after an error.
 * Errors as execve: -ENOENT, -ENOTDIR, -EACCES (a directory, or not executable), -ELOOP, -ENAMETOOLONG, -ENOMEM.
 * Tasks only. */
int file_load(struct group *group, const struct name *name, struct loaded *out);
void file_unload(struct loaded *loaded);

#endif
