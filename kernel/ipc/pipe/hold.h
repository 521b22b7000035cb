/* Pipe ends held by a splice: the bytes that it has looked at stay in the pipe, or the room that it was given stays
 * reserved, until it reports how much it has moved. kernel/ipc/pipe/splice.md has the states. */
#ifndef KERNEL_IPC_PIPE_HOLD_H
#define KERNEL_IPC_PIPE_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/wire.h"
#include "kernel/ipc/pipe/buffer.h"

struct pipe_holds {                  /* all zeros: none. Under the pipe's lock */
    uint64_t reader;                 /* the open file through which the read end is held; 0: none */
    uint64_t writer;                 /* the same for the write end */
    uint32_t offered;                /* bytes that READER was given */
    bool kept_readers, kept_writers; /* a caller has found the end held and waits */
};

/* True while the bytes, or the room, are held and so unavailable to other callers; notes that waiters need an event
 * when the hold ends. */
static inline bool pipe_hold_keeps_bytes(struct pipe_holds *holds)
{
    holds->kept_readers |= holds->reader != 0;
    return holds->reader != 0;
}

static inline bool pipe_hold_keeps_room(struct pipe_holds *holds)
{
    holds->kept_writers |= holds->writer != 0;
    return holds->writer != 0;
}

/* A pipe under its lock, as an operation finds it. */
struct pipe_held {
    struct pipe_buffer *buffer;
    struct pipe_holds *holds;
    bool readers, writers; /* the pipe is open for reading, for writing */
    bool moved; /* result: bytes have moved, or callers that found an end held may retry: both ends get an event */
};

/* pipe_hold_begin takes an open of FILE, an end of a pipe that is to be held, before the lock is taken: -EINVAL:
 * REQUEST is none of SPECIAL_PIPE_*; -EBADF: the wrong end; -ESRCH: the file is closed. pipe_hold_end gets the result
 * when the lock is free, and drops opens that are no longer needed. Any context. */
int64_t pipe_hold_begin(struct file *file, const struct file_request *request);
void pipe_hold_end(struct file *file, const struct file_request *request, int64_t result);

/* Ends the holds of PIPE, whose holders have died: nothing was moved. HELD->moved: there were some. Under the pipe's
 * lock. */
void pipe_hold_lost(struct pipe_held *pipe);

/* Performs REQUEST (SPECIAL_PIPE_*) through the open file ID. Under the pipe's lock. */
int64_t pipe_hold_do(struct pipe_held *pipe, uint64_t id, const struct file_request *request, const void *data,
                     size_t size, void *result, size_t room);

#endif
