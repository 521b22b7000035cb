/* Whole files of the boot image, for loading programs, on any kernel: kernel 0 has them in memory; the others fetch a
 * file once and keep it, as the boot image never changes, up to a bound. */
#ifndef KERNEL_FS_LOAD_H
#define KERNEL_FS_LOAD_H

#include <stddef.h>

struct group;

void load_init(void);
/* The content of the executable PATH (GROUP's working directory counts, NULL: the root): *SIZE bytes at *DATA, until
 * file_unload(*HELD). Errors as execve: -ENOENT, -ENOTDIR, -EACCES (a directory, or not executable), -ENAMETOOLONG,
 * -ENOMEM (also: larger than 4 MiB and this is not kernel 0). Tasks only. */
int file_load(struct group *group, const char *path, const void **data, size_t *size, void **held);
/* HELD may be NULL. */
void file_unload(void *held);

#endif
