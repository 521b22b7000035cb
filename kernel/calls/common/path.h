/* Helpers for system calls that take paths. Tasks of programs only; all of them may wait. */
#ifndef KERNEL_CALLS_COMMON_PATH_H
#define KERNEL_CALLS_COMMON_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/fs/name/name.h"

/* Copies the path at user address PATH to the heap; the caller frees PATH_MAX bytes. NULL: *ERROR is set. */
char *files_path(uint64_t path, int64_t *error);
/* Performs ASKED, an operation on one path, with the path at user address PATH, relative to DIRECTORY. */
int64_t files_name(const struct msg_file_name *asked, int64_t directory, uint64_t path, struct name_result *result);
/* Returns MODE without the bits of the process's umask(2). Asks the home. */
uint32_t files_mode(uint32_t mode);
/* Returns whether the string at user address PATH is empty. */
bool files_empty(uint64_t path);
/* Converts AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH in FLAGS of a call to NAME_*. */
#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_REMOVEDIR 0x200u
#define AT_SYMLINK_FOLLOW 0x400u
#define AT_EMPTY_PATH 0x1000u
uint32_t files_flags(uint32_t flags);

#endif
