/* Pipes. See pipe_buffer.h for the bytes. */
#ifndef KERNEL_FS_PIPE_H
#define KERNEL_FS_PIPE_H

#include <stdint.h>

#include "kernel/fs/file.h"
#include "kernel/fs/pipe_buffer.h"

#define PIPE_WHOLE 4096u /* PIPE_BUF: a write of so many bytes is not mixed with others */

/* Makes a pipe on this kernel: *READER and *WRITER, each open once. FLAGS: OPEN_NONBLOCK or 0. -ENOMEM. */
int pipe_create(uint32_t flags, struct file **reader, struct file **writer);

/* For moving a pipe to another kernel, while nobody uses it. */
bool pipe_is_end(const struct file *file);
/* ENDS: reader and writer, NULL if closed by all; BUFFER: a copy, whose bytes may be taken. */
void pipe_look(const struct file *file, struct file *ends[2], struct pipe_buffer *buffer);
/* The kind of an end: 0 reader, 1 writer. */
const struct file_kind *pipe_end_kind(int which);
/* Makes ENDS, files of these kinds without a state (NULL: closed), a pipe with an empty buffer. -ENOMEM: they can be
 * freed. */
int pipe_restore(struct file *const ends[2]);
/* Puts SIZE bytes, for which there is room, into the pipe of FILE. -ENOMEM. */
int pipe_refill(struct file *file, const void *data, size_t size);

#endif
