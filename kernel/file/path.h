/* How long paths and names may be. */
#ifndef KERNEL_FILE_PATH_H
#define KERNEL_FILE_PATH_H

#define PATH_MAX 4096u /* bytes with the NUL */
#define NAME_MAX 255u

#endif
