/* Pipes. See pipe_buffer.h for the bytes. */
#ifndef KERNEL_FS_PIPE_H
#define KERNEL_FS_PIPE_H

#include <stdint.h>

#include "kernel/fs/file.h"

#define PIPE_WHOLE 4096u /* PIPE_BUF: a write of so many bytes is not mixed with others */

/* Makes a pipe on this kernel: *READER and *WRITER, each open once. FLAGS: OPEN_NONBLOCK or 0. -ENOMEM. */
int pipe_create(uint32_t flags, struct file **reader, struct file **writer);

#endif
