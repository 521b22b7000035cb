/* Files by name, from any kernel: /dev and /proc are made where they are asked for; the rest, and the terminal, kernel
 * 0 is asked for (FILE_NAME). */
#ifndef KERNEL_FS_NAME_H
#define KERNEL_FS_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/fs/wire.h"

struct group;

void name_init(void);

/* Writes PATH, which is relative to the directory behind DIRECTORY (a descriptor of GROUP, or NAME_FOLDER: the working
 * directory) if it does not begin with a slash, to OUT (PATH_MAX bytes) as path_normalize does. GROUP NULL: the root.
 * -EBADF, -ENOTDIR: DIRECTORY is none; -ENAMETOOLONG; -ENOENT: PATH is empty; -ENOMEM. Tasks only. */
int64_t name_absolute(struct group *group, int64_t directory, const char *path, char *out, bool *folder);
#define NAME_FOLDER (-100) /* AT_FDCWD */

/* NAME is as path_normalize writes it; FOLDER: it has to be a directory. Errors as open and stat. On success of
 * name_open the open of *PLACE is the caller's. Tasks only: they wait for kernel 0. */
int64_t name_stat(const char *name, bool folder, struct file_facts *facts);
int64_t name_open(const char *name, bool folder, uint32_t flags, struct file_place *place);
/* Reads from the initramfs' file NAME, at OFFSET, up to ROOM bytes, at most FILE_CHUNK; *FACTS are the file's. Returns
 * how many. For kernels other than 0. */
int64_t name_fetch(const char *name, uint64_t offset, void *to, size_t room, struct file_facts *facts);
/* Writes the name of the file that programs have mapped as OBJECT of KERNEL (mm/backing.h) to NAME, ROOM bytes.
 * -ENOENT, -ENOMEM. Tasks only; waits for that kernel. */
int64_t name_mapped(uint32_t kernel, uint32_t object, char *name, size_t room, struct file_facts *facts);

#endif
