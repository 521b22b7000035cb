/* Pipes. See buffer.h for the bytes. */
#ifndef KERNEL_IPC_PIPE_PIPE_H
#define KERNEL_IPC_PIPE_PIPE_H

#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/ipc/pipe/buffer.h"

#define PIPE_WHOLE 4096u /* PIPE_BUF: a write of so many bytes is not mixed with others */

/* ioctl of what has a buffer, and F_GETPIPE_SZ and F_SETPIPE_SZ with a struct pipe_size; under its lock. -ENOTTY. */
#define PIPE_SET_SIZE 1031u
#define PIPE_GET_SIZE 1032u
#define PIPE_SIZE_MOST 1048576u /* /proc/sys/fs/pipe-max-size: what who is not root may set */
struct pipe_size {
    uint64_t size; /* argument and result */
    uint64_t root; /* 1: root asks */
};
int64_t pipe_buffer_control(struct pipe_buffer *buffer, uint32_t command, void *data);

/* Registers the maker of pipes: ANONYMOUS_PIPE. Once. */
void pipe_init(void);

/* For moving a pipe to another kernel, while nobody uses it. */
/* It has the usual size, never had packets, and nobody holds it: another stays where it is. */
bool pipe_is_usual(const struct file *file);
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
