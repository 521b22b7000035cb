/* The boot option share=TAG:DIRECTORY[:ro][,...]: which device is mounted where. A directory's name cannot contain a
 * comma. */
#ifndef KERNEL_FS_SHARE_OPTION_H
#define KERNEL_FS_SHARE_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#define SHARE_TAG_MAX 32u /* with the NUL */
#define SHARE_DIRECTORY_MAX 128u

struct share_option {
    char tag[SHARE_TAG_MAX];
    char directory[SHARE_DIRECTORY_MAX]; /* absolute */
    bool read_only;
};

/* Parses the next part of *TEXT and moves *TEXT behind it. 1: OUT is set; 0: there is no more; -1: the part is
 * malformed, and OUT is empty. */
int share_option_next(const char **text, struct share_option *out);

#endif
