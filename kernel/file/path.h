/* Paths as text. Symbolic links are not followed: "." and ".." are resolved by the text alone. */
#ifndef KERNEL_FILE_PATH_H
#define KERNEL_FILE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define PATH_MAX 4096u /* bytes with the NUL */
#define NAME_MAX 255u

/* Writes PATH to OUT (SIZE bytes) without leading, double and trailing slashes, "." and "..": "" is the root.
 * *DIRECTORY is set if the end of PATH (a slash, "." or "..") requires a directory. -ENOENT: empty; -ENAMETOOLONG: a
 * name over NAME_MAX, or no room. */
int path_normalize(const char *path, char *out, size_t size, bool *directory);

#endif
