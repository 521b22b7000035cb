/* The bytes of executables in memory, on any kernel: the part of the file that is needed to run it. They are read once
 * into frames of this kernel, which programs map, and cached until the file changes or memory is short: see README.md.
 */
#ifndef KERNEL_EXEC_LOAD_H
#define KERNEL_EXEC_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/fs/name/name.h"
#include "tasks/program/elf.h"

struct file;
struct group;

struct loaded {
    struct elf_file file;    /* its bytes, in frames of this kernel (mm/frame/kept.h) */
    void *held;              /* its entry in the cache, or NULL */
    struct file_place place; /* the file; this struct owns one open of it; id 0: none */
    uint32_t mode, uid, gid; /* as of stat(2) */
    bool shared;             /* it is in a directory of the host */
    char *path;              /* its absolute name when it was opened, perhaps ""; heap, PATH_MAX bytes */
};

void load_init(void);
/* Loads the executable NAME (GROUP NULL: it begins at the root). The caller calls file_unload, also after an error.
 * Errors as execve: -ENOENT, -ENOTDIR, -EACCES (a directory, or not executable), -ELOOP, -ENAMETOOLONG, -ENOMEM,
 * -ETXTBSY (it is open to be written). Tasks only. */
int file_load(struct group *group, const struct name *name, struct loaded *out);
void file_unload(struct loaded *loaded);
/* Gives LOADED's open of its file to the caller, for a process that runs it (file_table_set_executable): until it is
 * closed, nobody opens the file to write to it. *OUT is NULL for a file of the host, which others may write there.
 * -ENOMEM. */
int file_load_keep(struct loaded *loaded, struct file **out);

#endif
