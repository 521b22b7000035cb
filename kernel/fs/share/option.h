/* The boot option share=TAG:DIRECTORY[:ro][,...]: which device is mounted where. A comma in a directory's name ends it.
 */
#ifndef KERNEL_FS_SHARE_OPTION_H
#define KERNEL_FS_SHARE_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#define SHARE_TAG_MAX 32u /* bytes with the NUL */
#define SHARE_DIRECTORY_MAX 128u

struct share_option {
    char tag[SHARE_TAG_MAX];
    char directory[SHARE_DIRECTORY_MAX]; /* begins with a slash */
    bool read_only;
};

/* The next part of *TEXT, which moves on behind it. 0: there was none; 1; -1: it is none that makes sense, and OUT is
 * empty. */
int share_option_next(const char **text, struct share_option *out);

#endif
