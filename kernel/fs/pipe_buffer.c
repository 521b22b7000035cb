/* The bytes of a pipe. See the header. An empty buffer starts again at its first byte, so that one that is always read
 * soon after it was written keeps to one part. */
#include "kernel/fs/pipe_buffer.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"

#define PARTS (PIPE_SIZE / PIPE_PART)

/* Gets memory for SIZE bytes from AT on. False: there is none. */
static int provide(struct pipe_buffer *buffer, uint64_t at, size_t size)
{
    for (uint64_t part = at / PIPE_PART; part <= (at + size - 1) / PIPE_PART; part++) {
        uint8_t **memory = &buffer->parts[part % PARTS];

        if (*memory == NULL)
            *memory = heap_alloc(PIPE_PART);
        if (*memory == NULL)
            return 0;
    }
    return 1;
}

int64_t pipe_buffer_put(struct pipe_buffer *buffer, const void *data, size_t size, int whole)
{
    const uint8_t *from = data;
    size_t room = pipe_buffer_room(buffer);
    size_t left;

    if (size > room && whole)
        return 0;
    if (size > room)
        size = room;
    if (size == 0)
        return 0;
    if (room == PIPE_SIZE)
        buffer->written = buffer->taken = 0;
    if (!provide(buffer, buffer->written, size))
        return -ENOMEM;
    left = size;
    while (left > 0) {
        size_t offset = buffer->written % PIPE_PART;
        size_t count = left < PIPE_PART - offset ? left : PIPE_PART - offset;

        memcpy(buffer->parts[buffer->written / PIPE_PART % PARTS] + offset, from, count);
        buffer->written += count;
        from += count;
        left -= count;
    }
    return (int64_t)size;
}

size_t pipe_buffer_take(struct pipe_buffer *buffer, void *data, size_t size)
{
    uint8_t *to = data;
    size_t done = 0;

    if (size > pipe_buffer_used(buffer))
        size = pipe_buffer_used(buffer);
    while (done < size) {
        size_t offset = buffer->taken % PIPE_PART;
        size_t count = size - done < PIPE_PART - offset ? size - done : PIPE_PART - offset;

        memcpy(to + done, buffer->parts[buffer->taken / PIPE_PART % PARTS] + offset, count);
        buffer->taken += count;
        done += count;
    }
    return done;
}

void pipe_buffer_free(struct pipe_buffer *buffer)
{
    for (size_t i = 0; i < PARTS; i++)
        heap_free(buffer->parts[i], PIPE_PART);
}
