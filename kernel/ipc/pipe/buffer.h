/* The bytes of a pipe: a ring in pages that are taken when they are needed. A write may be a packet, which begins a
 * page and is taken by one read as a whole. Under the pipe's lock; nothing waits. */
#ifndef KERNEL_IPC_PIPE_BUFFER_H
#define KERNEL_IPC_PIPE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIPE_SIZE 65536u /* room of a pipe, unless another is set */
#define PIPE_PART 4096u  /* bytes of one piece of memory */
#define PIPE_PARTS (PIPE_SIZE / PIPE_PART)

/* How far a part that is not full was written, and what it is; all zeros: to its end, or it is being written. */
struct pipe_end {
    uint16_t length;
    uint16_t packet; /* 1 */
};

struct pipe_buffer {         /* all zeros: empty, of the usual size */
    uint64_t written, taken; /* bytes ever, with those that were left out at the end of parts */
    uint32_t size;           /* bytes, a power of two; 0: PIPE_SIZE */
    uint32_t gaps;           /* bytes left out between TAKEN and WRITTEN */
    uint32_t reserved;       /* bytes behind WRITTEN that have room and memory, whatever else happens */
    uint8_t **more;          /* of another size: its parts, in place of PARTS */
    struct pipe_end *ends;   /* one for each part, once there was a packet */
    uint8_t *parts[PIPE_PARTS];
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

/* Puts up to SIZE bytes in, as many as there is room for, or with WHOLE all or none. Returns how many; -ENOMEM: none,
 * for want of memory. */
int64_t pipe_buffer_put(struct pipe_buffer *buffer, const void *data, size_t size, int whole);
/* Puts SIZE bytes in as packets of a part each, the last perhaps less; only whole ones. As above. */
int64_t pipe_buffer_put_packets(struct pipe_buffer *buffer, const void *data, size_t size);
/* Takes up to SIZE bytes out, or a packet: what of it is more than SIZE is lost. Returns how many. */
size_t pipe_buffer_take(struct pipe_buffer *buffer, void *data, size_t size);
/* Copies bytes as pipe_buffer_take gives them, and leaves them there. */
size_t pipe_buffer_peek(const struct pipe_buffer *buffer, void *data, size_t size);
/* How many bytes a take of SIZE gives, or if these are more than ROOM, how many of them are in parts, or a packet, that
 * fit there as a whole. */
size_t pipe_buffer_fit(const struct pipe_buffer *buffer, size_t size, size_t room);
/* As pipe_buffer_peek, but packets are bytes like others: it goes on behind them. */
size_t pipe_buffer_look(const struct pipe_buffer *buffer, void *data, size_t size);
/* The first COUNT bytes that pipe_buffer_look gives are taken. */
void pipe_buffer_skip(struct pipe_buffer *buffer, size_t count);
/* Up to SIZE bytes can be put in by pipe_buffer_fill, whatever is taken or set meanwhile; nothing else is put in until
 * then. Returns how many; 0: it is full; -ENOMEM. */
int64_t pipe_buffer_reserve(struct pipe_buffer *buffer, size_t size);
/* Puts SIZE bytes in, no more than were reserved; nothing is reserved any more. */
void pipe_buffer_fill(struct pipe_buffer *buffer, const void *data, size_t size);
/* There is room for SIZE bytes from now on, which is rounded up to a power of two, at least a part. Returns it; -EBUSY:
 * what is there does not fit; -ENOMEM; -EINVAL. */
int64_t pipe_buffer_resize(struct pipe_buffer *buffer, uint64_t size);
void pipe_buffer_free(struct pipe_buffer *buffer);

#endif
