/* The bytes of a pipe: a ring of pages that are allocated on demand. A write may be a packet, which begins a page and
 * is consumed by a single read. Under the pipe's lock; nothing waits. */
#ifndef KERNEL_IPC_PIPE_BUFFER_H
#define KERNEL_IPC_PIPE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/wait/work.h"

#define PIPE_SIZE 65536u /* capacity of a pipe, unless another is set */
#define PIPE_PART 4096u  /* bytes of one piece of memory */
#define PIPE_PARTS (PIPE_SIZE / PIPE_PART)
#define PIPE_CHUNK 256u /* parts of one piece of a table */

struct pipe_part {
    uint8_t *memory; /* PIPE_PART bytes; NULL: none yet */
    uint16_t length; /* what is written in a part that is not full; 0: it is full, or still being written */
    uint16_t packet; /* 1: the part is a packet, which LENGTH says */
};

struct pipe_chunk {
    struct pipe_part parts[PIPE_CHUNK];
};

/* The parts of a buffer of more than PIPE_SIZE bytes, in chunks: so that another size moves chunks, and not parts, of
 * which there may be half a million. */
struct pipe_table {
    struct work work; /* frees it, if that takes long */
    uint32_t count;   /* chunks */
    struct pipe_chunk *chunks[];
};

struct pipe_buffer {          /* all zeros: empty, of the usual size */
    uint64_t written, taken;  /* positions: all bytes so far, including unused ones at the ends of parts */
    uint32_t size;            /* bytes, a power of two; 0: PIPE_SIZE */
    uint32_t gaps;            /* unused bytes between TAKEN and WRITTEN */
    uint32_t reserved;        /* bytes behind WRITTEN whose room and memory are guaranteed */
    bool packets;             /* there has been a packet */
    struct pipe_table *table; /* of more than PIPE_SIZE bytes: its parts, in place of PARTS */
    uint32_t user, pages;     /* whose quota the capacity counts in, and how many pages; 0: in nobody's */
    struct pipe_part parts[PIPE_PARTS];
};

static inline size_t pipe_buffer_size(const struct pipe_buffer *buffer)
{
    return buffer->size != 0 ? buffer->size : PIPE_SIZE;
}

/* Bytes that can be taken. */
static inline size_t pipe_buffer_used(const struct pipe_buffer *buffer)
{
    return (size_t)(buffer->written - buffer->taken) - buffer->gaps;
}

static inline size_t pipe_buffer_room(const struct pipe_buffer *buffer)
{
    return pipe_buffer_size(buffer) - (size_t)(buffer->written - buffer->taken);
}

/* Puts in up to SIZE bytes, as many as there is room for; with WHOLE all or none. Returns how many; -ENOMEM: none. */
int64_t pipe_buffer_put(struct pipe_buffer *buffer, const void *data, size_t size, int whole);
/* Puts in SIZE bytes as packets of one part each (the last may be shorter), and only whole packets. Returns as
 * above. */
int64_t pipe_buffer_put_packets(struct pipe_buffer *buffer, const void *data, size_t size);
/* Takes out up to SIZE bytes, or one packet, whose bytes beyond SIZE are lost. Returns how many. */
size_t pipe_buffer_take(struct pipe_buffer *buffer, void *data, size_t size);
/* How many bytes a take of SIZE gives; if that is more than ROOM, how many of them are in whole parts, or a whole
 * packet, that fit into ROOM. */
size_t pipe_buffer_fit(const struct pipe_buffer *buffer, size_t size, size_t room);
/* Copies up to SIZE bytes, over the boundaries of packets, and leaves them there. Returns how many. */
size_t pipe_buffer_look(const struct pipe_buffer *buffer, void *data, size_t size);
/* Removes the first COUNT bytes that pipe_buffer_look gives. */
void pipe_buffer_skip(struct pipe_buffer *buffer, size_t count);
/* Reserves room for up to SIZE bytes for pipe_buffer_fill, whatever is taken or resized meanwhile; nothing else may be
 * put in until then. Returns how many bytes; 0: the buffer is full; -ENOMEM. */
int64_t pipe_buffer_reserve(struct pipe_buffer *buffer, size_t size);
/* Puts in SIZE bytes, no more than were reserved, and ends the reservation. */
void pipe_buffer_fill(struct pipe_buffer *buffer, const void *data, size_t size);
/* Sets the capacity to SIZE bytes, rounded up to a power of two and at least one part. Returns the capacity; -EBUSY:
 * the bytes in the buffer do not fit; -ENOMEM; -EINVAL. */
int64_t pipe_buffer_resize(struct pipe_buffer *buffer, uint64_t size);
/* Frees the memory; that of much is freed by a worker, soon afterwards. */
void pipe_buffer_free(struct pipe_buffer *buffer);
/* Between two steps of that worker: slice_check, which a test of the buffer alone has no use for. */
void pipe_pause(void);

/* The capacity of BUFFER, which is new or has been counted before, counts in the quota of USER, who may have at most
 * MOST pages: 0. OVER, the caller's error: that is too much; -ENOMEM. After an error nothing is changed. */
int pipe_buffer_count(struct pipe_buffer *buffer, uint32_t user, uint64_t size, uint64_t most, int over);
/* It does not count any more. */
void pipe_buffer_discount(struct pipe_buffer *buffer);

#endif
