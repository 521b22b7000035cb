/* FIFOs. See the header; pipe.c has pipes without names. Each end may be open many times, and one file may be both
 * ends. All open files of a FIFO share their events: an operation that has to wait sets `wanted`, and the next
 * operation that may change that causes an event. */
#include "kernel/fs/tree/fifo.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/fs/tree/internal.h"
#include "kernel/ipc/pipe/hold.h"
#include "kernel/ipc/pipe/pipe.h"
#include "mm/frame/heap.h"

enum { READER, WRITER };

#define WITHDRAWN (UINT64_MAX - 1) /* the offset of an open file that is no end any more */

struct fifo {
    struct spinlock lock;
    struct pipe_buffer buffer; /* [k] lock */
    struct pipe_holds holds;   /* [k] lock */
    uint32_t ends[2];          /* [k] lock: files open for reading, and for writing */
    uint64_t opens[2];         /* [k] lock: opens so far of each end, closed ones included */
    bool wanted;               /* [k] lock: somebody may be waiting */
    struct file_events events;
};

struct fifo *fifo_new(void)
{
    struct fifo *fifo = heap_alloc(sizeof(*fifo));

    if (fifo != NULL)
        file_events_init(&fifo->events);
    return fifo;
}

void fifo_free(struct fifo *fifo)
{
    if (fifo == NULL)
        return;
    pipe_buffer_free(&fifo->buffer);
    pipe_buffer_discount(&fifo->buffer);
    heap_free(fifo, sizeof(*fifo));
}

static struct fifo *fifo_of(const struct file *file)
{
    return tree_of(file->state)->fifo;
}

static bool take_wanted_locked(struct fifo *fifo)
{
    bool wanted = fifo->wanted;

    fifo->wanted = false;
    return wanted;
}

static int64_t fifo_read(struct file *file, void *data, size_t size)
{
    struct fifo *fifo = fifo_of(file);
    bool notify = false;
    int64_t result;

    spin_lock(&fifo->lock);
    result = !pipe_hold_keeps_bytes(&fifo->holds) ? (int64_t)pipe_buffer_take(&fifo->buffer, data, size) : 0;
    if (result > 0) {
        notify = take_wanted_locked(fifo);
    } else if (fifo->ends[WRITER] != 0 || fifo->holds.reader != 0) {
        fifo->wanted = true;
        result = -EAGAIN;
    }
    spin_unlock(&fifo->lock);
    if (notify)
        file_event(&fifo->events);
    return result;
}

static int64_t fifo_write(struct file *file, const void *data, size_t size, uint32_t flags)
{
    struct fifo *fifo = fifo_of(file);
    bool notify = false;
    int64_t result = -EPIPE;

    spin_lock(&fifo->lock);
    if (fifo->ends[READER] != 0) {
        if (pipe_hold_keeps_room(&fifo->holds))
            result = 0;
        else if ((file->flags & OPEN_DIRECT) != 0 && (flags & FILE_STREAM) == 0)
            result = pipe_buffer_put_packets(&fifo->buffer, data, size);
        else
            result = pipe_buffer_put(&fifo->buffer, data, size, (flags & FILE_WHOLE) != 0 && size <= PIPE_WHOLE);
        if (result > 0) {
            notify = take_wanted_locked(fifo);
        } else if (result == 0) {
            fifo->wanted = true;
            result = -EAGAIN;
        }
    }
    spin_unlock(&fifo->lock);
    if (notify)
        file_event(&fifo->events);
    return result;
}

static bool is_for(const struct file *file, int end)
{
    uint32_t access = file->flags & OPEN_ACCESS;

    return access == 2 || access == (uint32_t)end;
}

static uint32_t fifo_poll(struct file *file)
{
    struct fifo *fifo = fifo_of(file);
    uint32_t events = 0;
    bool reads, writes;

    spin_lock(&fifo->lock);
    reads = is_for(file, READER) && !pipe_hold_keeps_bytes(&fifo->holds);
    writes = is_for(file, WRITER) && !pipe_hold_keeps_room(&fifo->holds);
    if (reads && pipe_buffer_used(&fifo->buffer) > 0)
        events |= POLL_IN | POLL_IN_NORMAL;
    if (reads && fifo->ends[WRITER] == 0 && fifo->opens[WRITER] != file->offset)
        events |= POLL_HUP; /* a writer has come since FILE was opened, and all have gone */
    if (writes && pipe_buffer_room(&fifo->buffer) >= PIPE_WHOLE)
        events |= POLL_OUT | POLL_OUT_NORMAL;
    if (is_for(file, WRITER) && fifo->ends[READER] == 0)
        events |= POLL_ERR;
    fifo->wanted = true; /* the caller may wait for the other direction */
    spin_unlock(&fifo->lock);
    return events;
}

static int64_t fifo_control(struct file *file, uint32_t command, void *data)
{
    struct fifo *fifo = fifo_of(file);
    bool notify = false;
    int64_t result;

    spin_lock(&fifo->lock);
    result = pipe_buffer_control(&fifo->buffer, command, data);
    if (command == PIPE_SET_SIZE)
        notify = take_wanted_locked(fifo);
    spin_unlock(&fifo->lock);
    if (notify)
        file_event(&fifo->events);
    return result;
}

/* The operations of splice. */
static int64_t fifo_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                            void *result, size_t room, struct file_answer *answer)
{
    struct fifo *fifo = fifo_of(file);
    struct pipe_held held = {.buffer = &fifo->buffer, .holds = &fifo->holds};
    bool notify = false;
    int64_t value;

    (void)answer;
    value = pipe_hold_begin(file, request);
    if (value != 0)
        return value;
    spin_lock(&fifo->lock);
    held.readers = fifo->ends[READER] != 0;
    held.writers = fifo->ends[WRITER] != 0;
    value = pipe_hold_do(&held, file->id, request, data, size, result, room);
    if (held.moved)
        notify = take_wanted_locked(fifo);
    else if (value == -EAGAIN)
        fifo->wanted = true;
    spin_unlock(&fifo->lock);
    if (notify)
        file_event(&fifo->events);
    pipe_hold_end(file, request, value);
    return value;
}

/* FILE, which is about to be closed, is no end any more. */
static void withdraw_locked(struct fifo *fifo, struct file *file)
{
    for (int end = READER; end <= WRITER; end++) {
        if (is_for(file, end))
            fifo->ends[end]--;
    }
    file->offset = WITHDRAWN;
}

/* FILE_OPENED: 0 if the other end is open, or was since FILE was opened; else -EAGAIN. */
static int64_t fifo_opened(struct file *file, bool gives_up)
{
    struct fifo *fifo = fifo_of(file);
    int other = (file->flags & OPEN_ACCESS) == WRITER ? READER : WRITER;
    bool there;

    spin_lock(&fifo->lock);
    there = fifo->ends[other] != 0 || fifo->opens[other] != file->offset;
    fifo->wanted |= !there;
    if (!there && gives_up && file->offset != WITHDRAWN)
        withdraw_locked(fifo, file);
    spin_unlock(&fifo->lock);
    return there ? 0 : -EAGAIN;
}

static void fifo_release(struct file *file)
{
    struct fifo *fifo = fifo_of(file);

    spin_lock(&fifo->lock);
    if (file->offset != WITHDRAWN)
        withdraw_locked(fifo, file);
    if (fifo->ends[READER] == 0 && fifo->ends[WRITER] == 0) {
        pipe_buffer_free(&fifo->buffer);
        pipe_buffer_discount(&fifo->buffer);
    }
    fifo->wanted = false;
    spin_unlock(&fifo->lock);
    file_event(&fifo->events);
}

static void fifo_forget(struct file *file)
{
    node_put(file->state);
}

#define BOTH                                                                                                           \
    .poll = fifo_poll, .control = fifo_control, .operate = fifo_operate, .opened = fifo_opened,                        \
    .release = fifo_release, .forget = fifo_forget, .whole = true, .of_node = true

static const struct file_kind kinds[3] = {
    {.read = fifo_read, BOTH},
    {.write = fifo_write, BOTH},
    {.read = fifo_read, .write = fifo_write, BOTH},
};

int64_t fifo_open(struct node *node, uint32_t flags, struct file **out, bool *wait)
{
    struct fifo *fifo = tree_of(node)->fifo;
    uint32_t access = flags & OPEN_ACCESS;
    struct file_facts facts;
    int64_t error = 0;
    bool notify = false;
    struct file *file;

    if (access > 2)
        return -EINVAL;
    tree_facts(node, &facts);
    file = file_create(&kinds[access], &facts, flags, node, &fifo->events);
    if (file == NULL)
        return -ENOMEM;
    node_hold(node);
    spin_lock(&fifo->lock);
    for (int end = READER; end <= WRITER; end++) {
        if (is_for(file, end)) {
            fifo->ends[end]++;
            fifo->opens[end]++;
        }
    }
    *wait = access != 2 && fifo->ends[access == WRITER ? READER : WRITER] == 0;
    file->offset = *wait ? fifo->opens[access == WRITER ? READER : WRITER] : UINT64_MAX;
    if (*wait && (flags & OPEN_NONBLOCK) != 0) {
        *wait = false;
        error = access == WRITER ? -ENXIO : 0;
    } else {
        notify = take_wanted_locked(fifo);
    }
    if (error != 0) {
        fifo->opens[WRITER]--; /* a failed open must not count for readers, neither those that wait nor new ones */
        withdraw_locked(fifo, file);
    }
    spin_unlock(&fifo->lock);
    if (notify)
        file_event(&fifo->events);
    if (error != 0)
        file_close(file);
    else
        *out = file;
    return error;
}

bool fifo_is_end(const struct file *file)
{
    return file->kind >= kinds && file->kind < kinds + sizeof(kinds) / sizeof(kinds[0]);
}

void fifo_lost(struct file *file)
{
    struct fifo *fifo = fifo_of(file);
    struct pipe_held held = {.buffer = &fifo->buffer, .holds = &fifo->holds};
    bool notify = false;

    spin_lock(&fifo->lock);
    pipe_hold_lost(&held);
    if (held.moved)
        notify = take_wanted_locked(fifo);
    spin_unlock(&fifo->lock);
    if (notify)
        file_event(&fifo->events);
}
