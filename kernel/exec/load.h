/* The bytes of executables in memory, on any kernel: the part of the file that is needed to run it. Kernel 0 uses the
 * boot image's copy of a file that has not changed since boot. Other executables are read once and cached, up to a
 * bound, until they change. */
#ifndef KERNEL_EXEC_LOAD_H
#define KERNEL_EXEC_LOAD_H

#include <stddef.h>

#include "kernel/fs/name/name.h"
#include "tasks/program/elf.h"

struct group;

struct loaded {
    struct elf_file file;    /* its bytes; may point into this struct, which must not be moved */
    const uint8_t *archive;  /* the boot image's copy, or NULL */
    void *held;              /* its entry in the cache, or NULL */
    struct file_place place; /* the file; this struct owns one open of it; id 0: none */
    uint32_t mode, uid, gid; /* as of stat(2) */
    char *path;              /* its absolute name when it was opened, perhaps ""; heap, PATH_MAX bytes */
};

void load_init(void);
/* Loads the executable NAME (GROUP NULL: it begins at the root). The caller calls file_unload, also after an error.
 * Errors as execve: -ENOENT, -ENOTDIR, -EACCES (a directory, or not executable), -ELOOP, -ENAMETOOLONG, -ENOMEM.
 * Tasks only. */
int file_load(struct group *group, const struct name *name, struct loaded *out);
void file_unload(struct loaded *loaded);

#endif
