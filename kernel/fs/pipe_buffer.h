/* The bytes of a pipe: a ring in pages that are taken when they are needed. Under the pipe's lock; nothing waits. */
#ifndef KERNEL_FS_PIPE_BUFFER_H
#define KERNEL_FS_PIPE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#define PIPE_SIZE 65536u
#define PIPE_PART 4096u /* bytes of one piece of memory */

struct pipe_buffer {
    uint64_t written, taken; /* bytes ever */
    uint8_t *parts[PIPE_SIZE / PIPE_PART];
};

static inline size_t pipe_buffer_used(const struct pipe_buffer *buffer)
{
    return (size_t)(buffer->written - buffer->taken);
}

static inline size_t pipe_buffer_room(const struct pipe_buffer *buffer)
{
    return PIPE_SIZE - pipe_buffer_used(buffer);
}

/* Puts up to SIZE bytes in, as many as there is room for, or with WHOLE all or none. Returns how many; -ENOMEM: none,
 * for want of memory. */
int64_t pipe_buffer_put(struct pipe_buffer *buffer, const void *data, size_t size, int whole);
/* Takes up to SIZE bytes out. Returns how many. */
size_t pipe_buffer_take(struct pipe_buffer *buffer, void *data, size_t size);
void pipe_buffer_free(struct pipe_buffer *buffer);

#endif
