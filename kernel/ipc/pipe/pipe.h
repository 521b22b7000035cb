/* Pipes. See buffer.h for the bytes. */
#ifndef KERNEL_IPC_PIPE_PIPE_H
#define KERNEL_IPC_PIPE_PIPE_H

#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/ipc/pipe/buffer.h"

#define PIPE_WHOLE 4096u /* PIPE_BUF: a write of at most so many bytes is not interleaved with others */

/* ioctls of files with a pipe buffer, and F_GETPIPE_SZ and F_SETPIPE_SZ with a struct pipe_size; under the pipe's lock.
 * -ENOTTY. */
#define PIPE_SET_SIZE 1031u
#define PIPE_GET_SIZE 1032u
#define PIPE_SIZE_MOST 1048576u /* /proc/sys/fs/pipe-max-size: the limit for users other than root */
struct pipe_size {
    uint64_t size; /* argument and result */
    uint32_t root; /* 1: the caller is root */
    uint32_t user; /* the caller's */
};
int64_t pipe_buffer_control(struct pipe_buffer *buffer, uint32_t command, void *data);

/* Registers the constructor of pipes: ANONYMOUS_PIPE. Once. */
void pipe_init(void);

/* The rest is for moving a pipe to another kernel, while programs are quiesced. */
/* True if the pipe has the usual size, never had packets, and no end of it is held; only such a pipe can be moved. */
bool pipe_is_usual(const struct file *file);
bool pipe_is_end(const struct file *file);
/* ENDS: reader and writer, NULL for an end with no opens left; BUFFER: a copy, from which the caller may take the
 * bytes. */
void pipe_look(const struct file *file, struct file *ends[2], struct pipe_buffer *buffer);
/* The kind of an end: 0 reader, 1 writer. */
const struct file_kind *pipe_end_kind(int which);
/* Makes a pipe with an empty buffer of ENDS, files of these kinds without a state (NULL: closed). -ENOMEM: the caller
 * may free them. */
int pipe_restore(struct file *const ends[2]);
/* A kernel has died, and programs are quiesced: who still holds an end of the pipe of FILE has died with it. */
void pipe_lost(struct file *file);
/* Puts SIZE bytes, for which there is room, into the pipe of FILE. -ENOMEM. */
int pipe_refill(struct file *file, const void *data, size_t size);

#endif
