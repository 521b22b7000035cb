/* Requests of other kernels that may wait: their handler keeps them, and a worker does and answers them. */
#ifndef KERNEL_FS_NAME_LATER_H
#define KERNEL_FS_NAME_LATER_H

#include "kernel/file/file.h"

struct msg;

/* In the handler of FILE_CALL M, which has been checked: it is done on FILE, whose pin goes along. */
void file_later(const struct msg *m, struct file *file);
/* In the handler of FILE_NAME M, which has been checked: share_do does it. */
void name_later(const struct msg *m);

#endif
