/* What system calls do with paths of the program. Tasks of programs only; all of it may wait. */
#ifndef KERNEL_CALLS_COMMON_PATH_H
#define KERNEL_CALLS_COMMON_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/fs/name/name.h"

/* A copy of the path at user address PATH, on the heap, to be freed with PATH_MAX; or NULL and *ERROR. */
char *files_path(uint64_t path, int64_t *error);
/* Does ASKED with the path at user address PATH, which begins at DIRECTORY, and for two names the other one. */
int64_t files_name(const struct msg_file_name *asked, int64_t directory, uint64_t path, struct name_result *result);
/* MODE without what the process does not give (umask(2)). Asks the home. */
uint32_t files_mode(uint32_t mode);
/* Does PATH at user address hold an empty string? */
bool files_empty(uint64_t path);
/* FLAGS of a call, AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH, as NAME_*. */
#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_REMOVEDIR 0x200u
#define AT_SYMLINK_FOLLOW 0x400u
#define AT_EMPTY_PATH 0x1000u
uint32_t files_flags(uint32_t flags);

#endif
