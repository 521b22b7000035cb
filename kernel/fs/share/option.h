/* The boot option share=TAG:FOLDER[:ro][,...]: which device is mounted where. A comma in a folder's name ends it. */
#ifndef KERNEL_FS_SHARE_OPTION_H
#define KERNEL_FS_SHARE_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#define SHARE_TAG_MAX 32u /* bytes with the NUL */
#define SHARE_FOLDER_MAX 128u

struct share_option {
    char tag[SHARE_TAG_MAX];
    char folder[SHARE_FOLDER_MAX]; /* begins with a slash */
    bool read_only;
};

/* The next part of *TEXT, which moves on behind it. 0: there was none; 1; -1: it is none that makes sense, and OUT is
 * empty. */
int share_option_next(const char **text, struct share_option *out);

#endif
