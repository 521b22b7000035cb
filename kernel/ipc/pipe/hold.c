/* Pipe ends held by a splice. See the header. */
#include "kernel/ipc/pipe/hold.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/lib/string.h"

int64_t pipe_hold_begin(struct file *file, const struct file_request *request)
{
    bool reads = request->special.what != SPECIAL_PIPE_ROOM && request->special.what != SPECIAL_PIPE_PUT;

    if (request->special.what < SPECIAL_PIPE_TAKE || request->special.what > SPECIAL_PIPE_FIT)
        return -EINVAL;
    if ((reads && file->kind->read == NULL) || (!reads && file->kind->write == NULL))
        return -EBADF;
    if (request->special.what != SPECIAL_PIPE_TAKE && request->special.what != SPECIAL_PIPE_ROOM)
        return 0;
    return file_share(file->id) != NULL ? 0 : -ESRCH;
}

void pipe_hold_end(struct file *file, const struct file_request *request, int64_t result)
{
    bool holds = request->special.what == SPECIAL_PIPE_TAKE || request->special.what == SPECIAL_PIPE_ROOM;
    bool lets_go = request->special.what == SPECIAL_PIPE_TAKEN || request->special.what == SPECIAL_PIPE_PUT;

    if ((holds && result <= 0) || (lets_go && result >= 0))
        file_close(file);
}

/* Copies the next bytes, which stay in the pipe. */
static int64_t look(struct pipe_held *pipe, const struct file_request *request, void *result, size_t room)
{
    size_t asked = request->special.argument < room ? (size_t)request->special.argument : room;
    size_t count;

    if (pipe_hold_keeps_bytes(pipe->holds))
        return -EAGAIN;
    count = pipe_buffer_look(pipe->buffer, result, asked);
    return count > 0 || !pipe->writers || asked == 0 ? (int64_t)count : -EAGAIN;
}

static int64_t take(struct pipe_held *pipe, uint64_t id, const struct file_request *request, void *result, size_t room)
{
    int64_t count = look(pipe, request, result, room);

    if (count > 0) {
        pipe->holds->reader = id;
        pipe->holds->offered = (uint32_t)count;
    }
    return count;
}

/* If no bytes have moved, an event is counted only if a caller has found the end held. Otherwise two splices that can
 * move nothing would wake each other for ever. */
static int64_t taken(struct pipe_held *pipe, uint64_t id, uint64_t count)
{
    if (pipe->holds->reader != id || count > pipe->holds->offered)
        return -EPROTO;
    pipe_buffer_skip(pipe->buffer, (size_t)count);
    pipe->holds->reader = 0;
    pipe->moved = count > 0 || pipe->holds->kept_readers;
    pipe->holds->kept_readers = false;
    return 0;
}

static int64_t fit(struct pipe_held *pipe, uint64_t asked, void *result, size_t room)
{
    size_t count;

    if (pipe_hold_keeps_bytes(pipe->holds))
        return -EAGAIN;
    if (pipe_buffer_used(pipe->buffer) == 0)
        return pipe->writers ? -EAGAIN : 0;
    count = pipe_buffer_fit(pipe->buffer, asked, room);
    if (count == 0)
        return -EFAULT;
    pipe->moved = true;
    return (int64_t)pipe_buffer_take(pipe->buffer, result, count);
}

static int64_t reserve(struct pipe_held *pipe, uint64_t id, uint64_t asked, void *result, size_t room)
{
    uint64_t count;
    int64_t value;

    if (room < sizeof(count))
        return -EPROTO;
    if (!pipe->readers)
        return -EPIPE;
    if (pipe_hold_keeps_room(pipe->holds))
        return -EAGAIN;
    value = pipe_buffer_reserve(pipe->buffer, asked < FILE_CHUNK ? (size_t)asked : FILE_CHUNK);
    if (value <= 0)
        return value == 0 ? -EAGAIN : value;
    pipe->holds->writer = id;
    count = (uint64_t)value;
    memcpy(result, &count, sizeof(count));
    return sizeof(count);
}

/* The bytes are written even if the last reader was closed after the room was reserved: they count as older. */
static int64_t put(struct pipe_held *pipe, uint64_t id, const void *data, size_t size)
{
    if (pipe->holds->writer != id || size > pipe->buffer->reserved)
        return -EPROTO;
    pipe_buffer_fill(pipe->buffer, data, size);
    pipe->holds->writer = 0;
    pipe->moved = size > 0 || pipe->holds->kept_writers;
    pipe->holds->kept_writers = false;
    return 0;
}

int64_t pipe_hold_do(struct pipe_held *pipe, uint64_t id, const struct file_request *request, const void *data,
                     size_t size, void *result, size_t room)
{
    pipe->moved = false;
    switch (request->special.what) {
    case SPECIAL_PIPE_TAKE:
        return take(pipe, id, request, result, room);
    case SPECIAL_PIPE_TAKEN:
        return taken(pipe, id, request->special.argument);
    case SPECIAL_PIPE_LOOK:
        return look(pipe, request, result, room);
    case SPECIAL_PIPE_ROOM:
        return reserve(pipe, id, request->special.argument, result, room);
    case SPECIAL_PIPE_PUT:
        return put(pipe, id, data, size);
    case SPECIAL_PIPE_FIT:
        return fit(pipe, request->special.argument, result, room);
    default:
        return -EPROTO;
    }
}

void pipe_hold_lost(struct pipe_held *pipe)
{
    pipe->moved = pipe->holds->reader != 0 || pipe->holds->writer != 0;
    if (pipe->holds->writer != 0)
        pipe_buffer_fill(pipe->buffer, "", 0);
    *pipe->holds = (struct pipe_holds){.reader = 0};
}
