/* Pipes. See the header. An operation that finds an end not ready marks it `wanted`, under the pipe's lock; the next
 * operation on the other end that may make it ready counts an event. A pipe without waiters causes no events. */
#include "kernel/ipc/pipe/pipe.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/ipc/pipe/buffer.h"
#include "kernel/ipc/pipe/hold.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/quota/quota.h"

#define SMALL_SIZE (2u * PIPE_PART) /* of a pipe beyond the soft limit */

#define FIONREAD 0x541bu
#define PIPE_DEVICE 3u

enum { READ_END, WRITE_END };

struct pipe {
    struct spinlock lock;
    struct file *ends[2];      /* [k] lock; NULL: closed */
    struct pipe_buffer buffer; /* [k] lock */
    struct pipe_holds holds;   /* [k] lock */
    bool released[2];          /* [k] lock: that end's file has been freed and no longer uses the pipe */
};

void pipe_pause(void)
{
    slice_check();
}

/* Counts an event of END, which may be ready now, and drops a pin. Without the lock. END may be NULL. */
static void notify(struct file *end)
{
    if (end == NULL)
        return;
    file_event(end->events);
    file_unpin(end);
}

/* End WHICH with a pin, if a thread may wait for it; else NULL. */
static inline __attribute__((always_inline)) struct file *wanted_locked(struct pipe *pipe, int which)
{
    struct file *end = pipe->ends[which];

    if (end == NULL || !file_event_wanted(end))
        return NULL;
    end->wanted = false;
    file_pin(end);
    return end;
}

static int64_t pipe_read(struct file *file, void *data, size_t size)
{
    struct pipe *pipe = file->state;
    struct file *other = NULL;
    int64_t result;

    spin_lock(&pipe->lock);
    result = !pipe_hold_keeps_bytes(&pipe->holds) ? (int64_t)pipe_buffer_take(&pipe->buffer, data, size) : 0;
    if (result > 0) {
        other = wanted_locked(pipe, WRITE_END);
    } else if (pipe->ends[WRITE_END] != NULL || pipe->holds.reader != 0) {
        file->wanted = true;
        result = -EAGAIN;
    }
    spin_unlock(&pipe->lock);
    notify(other);
    return result;
}

static int64_t pipe_write(struct file *file, const void *data, size_t size, uint32_t flags)
{
    struct pipe *pipe = file->state;
    struct file *other = NULL;
    int64_t result = -EPIPE;

    spin_lock(&pipe->lock);
    if (pipe->ends[READ_END] != NULL) {
        if (pipe_hold_keeps_room(&pipe->holds))
            result = 0;
        else if ((file->flags & OPEN_DIRECT) != 0 && (flags & FILE_STREAM) == 0)
            result = pipe_buffer_put_packets(&pipe->buffer, data, size);
        else
            result = pipe_buffer_put(&pipe->buffer, data, size, (flags & FILE_WHOLE) != 0 && size <= PIPE_WHOLE);
        if (result > 0) {
            other = wanted_locked(pipe, READ_END);
        } else if (result == 0) {
            file->wanted = true;
            result = -EAGAIN;
        }
    }
    spin_unlock(&pipe->lock);
    notify(other);
    return result;
}

static uint32_t pipe_poll_read(struct file *file)
{
    struct pipe *pipe = file->state;
    uint32_t events = 0;
    bool held;

    spin_lock(&pipe->lock);
    held = pipe_hold_keeps_bytes(&pipe->holds);
    if (pipe_buffer_used(&pipe->buffer) > 0 && !held)
        events |= POLL_IN | POLL_IN_NORMAL;
    if (pipe->ends[WRITE_END] == NULL && !held)
        events |= POLL_HUP;
    file->wanted |= events == 0;
    spin_unlock(&pipe->lock);
    return events;
}

static uint32_t pipe_poll_write(struct file *file)
{
    struct pipe *pipe = file->state;
    uint32_t events = 0;

    spin_lock(&pipe->lock);
    if (!pipe_hold_keeps_room(&pipe->holds) && pipe_buffer_room(&pipe->buffer) >= PIPE_WHOLE)
        events |= POLL_OUT | POLL_OUT_NORMAL;
    if (pipe->ends[READ_END] == NULL)
        events |= POLL_ERR;
    file->wanted |= events == 0;
    spin_unlock(&pipe->lock);
    return events;
}

/* F_SETPIPE_SZ. Users other than root may enlarge a pipe up to PIPE_SIZE_MOST, and while all their pipes together have
 * no more than the soft limit. */
static int64_t resize(struct pipe_buffer *buffer, const struct pipe_size *size)
{
    uint64_t before = pipe_buffer_size(buffer);
    int64_t result;

    if (size->size > before && size->root == 0) {
        if (size->size > PIPE_SIZE_MOST)
            return -EPERM;
        result = pipe_buffer_count(buffer, size->user, size->size, quota_pipe_soft(), -EPERM);
        if (result != 0)
            return result;
    }
    result = pipe_buffer_resize(buffer, size->size);
    if (buffer->pages != 0) /* the resized pipe is not larger than what was just counted */
        pipe_buffer_count(buffer, buffer->user, pipe_buffer_size(buffer), UINT64_MAX, 0);
    return result;
}

int64_t pipe_buffer_control(struct pipe_buffer *buffer, uint32_t command, void *data)
{
    struct pipe_size *size = data;
    int64_t result;

    switch (command) {
    case FIONREAD:
        *(int32_t *)data = (int32_t)pipe_buffer_used(buffer);
        return 0;
    case PIPE_GET_SIZE:
        size->size = pipe_buffer_size(buffer);
        return 0;
    case PIPE_SET_SIZE:
        result = resize(buffer, size);
        size->size = result > 0 ? (uint64_t)result : 0;
        return result > 0 ? 0 : result;
    default:
        return -ENOTTY;
    }
}

static int64_t pipe_control(struct file *file, uint32_t command, void *data)
{
    struct pipe *pipe = file->state;
    struct file *other;
    int64_t result;

    spin_lock(&pipe->lock);
    result = pipe_buffer_control(&pipe->buffer, command, data);
    other = command == PIPE_SET_SIZE ? wanted_locked(pipe, WRITE_END) : NULL; /* a larger pipe may have room */
    spin_unlock(&pipe->lock);
    notify(other);
    return result;
}

/* SPECIAL_PIPE_*: the operations of a splice. */
static int64_t pipe_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                            void *result, size_t room, struct file_answer *answer)
{
    struct pipe *pipe = file->state;
    struct pipe_held held = {.buffer = &pipe->buffer, .holds = &pipe->holds};
    struct file *notified[2] = {NULL, NULL};
    int64_t value;

    (void)answer;
    value = pipe_hold_begin(file, request);
    if (value != 0)
        return value;
    spin_lock(&pipe->lock);
    held.readers = pipe->ends[READ_END] != NULL;
    held.writers = pipe->ends[WRITE_END] != NULL;
    value = pipe_hold_do(&held, file->id, request, data, size, result, room);
    file->wanted |= value == -EAGAIN;
    for (int end = READ_END; held.moved && end <= WRITE_END; end++)
        notified[end] = wanted_locked(pipe, end);
    spin_unlock(&pipe->lock);
    notify(notified[READ_END]);
    notify(notified[WRITE_END]);
    pipe_hold_end(file, request, value);
    return value;
}

void pipe_lost(struct file *file)
{
    struct pipe *pipe = file->state;
    struct pipe_held held = {.buffer = &pipe->buffer, .holds = &pipe->holds};
    struct file *notified[2] = {NULL, NULL};

    spin_lock(&pipe->lock);
    pipe_hold_lost(&held);
    for (int end = READ_END; held.moved && end <= WRITE_END; end++)
        notified[end] = wanted_locked(pipe, end);
    spin_unlock(&pipe->lock);
    notify(notified[READ_END]);
    notify(notified[WRITE_END]);
}

/* The last open of one end has been dropped. Operations under way still have pins; see forget. */
static void release(struct file *file, int which)
{
    struct pipe *pipe = file->state;
    struct file *other;

    spin_lock(&pipe->lock);
    pipe->ends[which] = NULL;
    other = pipe->ends[!which];
    if (other != NULL) {
        other->wanted = false;
        file_pin(other);
    }
    spin_unlock(&pipe->lock);
    notify(other);
}

static void release_reader(struct file *file)
{
    release(file, READ_END);
}

static void release_writer(struct file *file)
{
    release(file, WRITE_END);
}

/* The last pin of one end has been dropped. The pipe is freed with the second end. */
static void forget(struct file *file, int which)
{
    struct pipe *pipe = file->state;
    bool last;

    if (pipe == NULL) /* pipe_restore has failed */
        return;
    spin_lock(&pipe->lock);
    pipe->released[which] = true;
    last = pipe->released[!which];
    spin_unlock(&pipe->lock);
    if (!last)
        return;
    pipe_buffer_free(&pipe->buffer);
    pipe_buffer_discount(&pipe->buffer);
    heap_free(pipe, sizeof(*pipe));
}

static void forget_reader(struct file *file)
{
    forget(file, READ_END);
}

static void forget_writer(struct file *file)
{
    forget(file, WRITE_END);
}

static const struct file_kind read_kind = {.read = pipe_read,
                                           .poll = pipe_poll_read,
                                           .control = pipe_control,
                                           .operate = pipe_operate,
                                           .release = release_reader,
                                           .forget = forget_reader,
                                           .whole = true};
static const struct file_kind write_kind = {.write = pipe_write,
                                            .poll = pipe_poll_write,
                                            .control = pipe_control,
                                            .operate = pipe_operate,
                                            .release = release_writer,
                                            .forget = forget_writer,
                                            .whole = true};

/* Counts a new pipe of USER's. Beyond the soft limit it has only SMALL_SIZE bytes, and beyond the hard one there is
 * none: -ENFILE, -ENOMEM. */
static int count_new(struct pipe_buffer *buffer, uint32_t user)
{
    int error = pipe_buffer_count(buffer, user, PIPE_SIZE, quota_pipe_soft(), -ENFILE);

    if (error != -ENFILE)
        return error;
    error = pipe_buffer_count(buffer, user, SMALL_SIZE, quota_limit(QUOTA_PIPE_PAGES), -ENFILE);
    if (error != 0)
        return error;
    return pipe_buffer_resize(buffer, SMALL_SIZE) > 0 ? 0 : -ENOMEM;
}

static int create(uint32_t flags, uint32_t user, struct file **reader, struct file **writer)
{
    int error;
    struct pipe *pipe = heap_alloc(sizeof(*pipe));
    struct file_facts facts = {.device = PIPE_DEVICE, .mode = FILE_FIFO | 0600};

    if (pipe == NULL)
        return -ENOMEM;
    error = count_new(&pipe->buffer, user);
    *reader = error == 0 ? file_create(&read_kind, &facts, flags, pipe, NULL) : NULL;
    if (*reader == NULL) {
        pipe_buffer_free(&pipe->buffer);
        pipe_buffer_discount(&pipe->buffer);
        heap_free(pipe, sizeof(*pipe));
        return error != 0 ? error : -ENOMEM;
    }
    facts.inode = (*reader)->id;
    *writer = file_create(&write_kind, &facts, flags | 1, pipe, NULL);
    if (*writer == NULL) {
        pipe->released[WRITE_END] = true;
        file_close(*reader);
        return -ENOMEM;
    }
    pipe->ends[READ_END] = *reader;
    pipe->ends[WRITE_END] = *writer;
    return 0;
}

static int make(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    uint32_t user;

    if (size != sizeof(user))
        return -EPROTO;
    memcpy(&user, data, sizeof(user));
    return create(flags, user, &made[0], &made[1]);
}

void pipe_init(void)
{
    anonymous_register(ANONYMOUS_PIPE, make);
}

bool pipe_is_usual(const struct file *file)
{
    const struct pipe *pipe = file->state;

    return pipe->buffer.size == 0 && !pipe->buffer.packets && pipe->holds.reader == 0 && pipe->holds.writer == 0;
}

bool pipe_is_end(const struct file *file)
{
    return file->kind == &read_kind || file->kind == &write_kind;
}

void pipe_look(const struct file *file, struct file *ends[2], struct pipe_buffer *buffer)
{
    const struct pipe *pipe = file->state;

    ends[READ_END] = pipe->ends[READ_END];
    ends[WRITE_END] = pipe->ends[WRITE_END];
    *buffer = pipe->buffer;
}

const struct file_kind *pipe_end_kind(int which)
{
    return which == READ_END ? &read_kind : &write_kind;
}

int pipe_restore(struct file *const ends[2])
{
    struct pipe *pipe = heap_alloc(sizeof(*pipe));

    if (pipe == NULL)
        return -ENOMEM;
    for (int which = READ_END; which <= WRITE_END; which++) {
        pipe->ends[which] = ends[which];
        pipe->released[which] = ends[which] == NULL;
        if (ends[which] != NULL)
            ends[which]->state = pipe;
    }
    return 0;
}

int pipe_refill(struct file *file, const void *data, size_t size)
{
    struct pipe *pipe = file->state;

    return pipe_buffer_put(&pipe->buffer, data, size, 1) == (int64_t)size ? 0 : -ENOMEM;
}
