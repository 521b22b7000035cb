/* Ends of pipes that a splice holds: what it has looked at is still there, or what it was promised room for still fits,
 * when it says how much has been moved. kernel/ipc/pipe/splice.md has the states. */
#ifndef KERNEL_IPC_PIPE_HOLD_H
#define KERNEL_IPC_PIPE_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/wire.h"
#include "kernel/ipc/pipe/buffer.h"

struct pipe_holds {                  /* all zeros: none. Under the pipe's lock */
    uint64_t reader;                 /* the open file by which bytes are held that have been looked at; 0: none */
    uint64_t writer;                 /* the same of room */
    uint32_t offered;                /* bytes that READER was given */
    bool kept_readers, kept_writers; /* somebody has found them held */
};

/* True when the bytes, or the room, are held from who looks; who looked is told when they are no more. */
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
    bool readers, writers; /* somebody has it open for reading, for writing */
    bool moved;            /* result: bytes have moved, or who found an end held may try again: tell both ends */
};

/* FILE, an end of a pipe, is to be held, and must stay open for it; or it was, and need not any more. Before the lock:
 * -EINVAL, REQUEST is none of SPECIAL_PIPE_*; -EBADF, the wrong end; -ESRCH, it is closed. With the result, when the
 * lock is free. Any context. */
int64_t pipe_hold_begin(struct file *file, const struct file_request *request);
void pipe_hold_end(struct file *file, const struct file_request *request, int64_t result);

/* Does REQUEST (SPECIAL_PIPE_*) by way of the open file ID. Under the pipe's lock. */
int64_t pipe_hold_do(struct pipe_held *pipe, uint64_t id, const struct file_request *request, const void *data,
                     size_t size, void *result, size_t room);

#endif
