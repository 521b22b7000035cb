/* eventfd(2). See the header. */
#include "kernel/file/event/eventfd.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

struct eventfd {
    struct spinlock lock;
    uint64_t count; /* [k] */
    bool semaphore; /* [i] */
};

static int64_t eventfd_read(struct file *file, void *data, size_t size)
{
    struct eventfd *event = file->state;
    uint64_t value = 0;
    bool notify = false;

    if (size < sizeof(value))
        return -EINVAL;
    spin_lock(&event->lock);
    if (event->count != 0) {
        value = event->semaphore ? 1 : event->count;
        event->count -= value;
        notify = file_event_wanted(file);
    }
    file->wanted = value == 0; /* the next event wakes readers and writers, and all try again */
    spin_unlock(&event->lock);
    if (value == 0)
        return -EAGAIN;
    if (notify)
        file_event(file->events);
    memcpy(data, &value, sizeof(value));
    return sizeof(value);
}

static int64_t eventfd_write(struct file *file, const void *data, size_t size, uint32_t flags)
{
    struct eventfd *event = file->state;
    uint64_t value;
    bool room, notify = false;

    (void)flags;
    if (size < sizeof(value))
        return -EINVAL;
    memcpy(&value, data, sizeof(value));
    if (value == UINT64_MAX)
        return -EINVAL;
    spin_lock(&event->lock);
    room = value < UINT64_MAX - event->count;
    if (room) {
        event->count += value;
        notify = file_event_wanted(file);
    }
    file->wanted = !room;
    spin_unlock(&event->lock);
    if (notify)
        file_event(file->events);
    return room ? (int64_t)sizeof(value) : -EAGAIN;
}

static uint32_t eventfd_poll(struct file *file)
{
    struct eventfd *event = file->state;
    uint32_t state = 0;

    spin_lock(&event->lock);
    if (event->count > 0)
        state |= POLL_IN;
    if (event->count < UINT64_MAX - 1)
        state |= POLL_OUT;
    file->wanted |= state != (POLL_IN | POLL_OUT);
    spin_unlock(&event->lock);
    return state;
}

static int64_t eventfd_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                               void *result, size_t room, struct file_answer *answer)
{
    struct eventfd *event = file->state;
    uint64_t count;
    char text[64];

    (void)answer;
    if (request->special.what != SPECIAL_INFO)
        return -EINVAL;
    spin_lock(&event->lock);
    count = event->count;
    spin_unlock(&event->lock);
    snprintf(text, sizeof(text), "eventfd-count: %16lx\n", (unsigned long)count);
    return anonymous_info(data, size, text, result, room);
}

static void forget(struct file *file)
{
    heap_free(file->state, sizeof(struct eventfd));
}

static const struct file_kind eventfd_kind = {.read = eventfd_read,
                                              .write = eventfd_write,
                                              .poll = eventfd_poll,
                                              .operate = eventfd_operate,
                                              .forget = forget,
                                              .whole = true,
                                              .one_read = true};

static struct file *create(uint32_t flags, const struct event_start *start)
{
    struct file_facts facts = {.device = ANONYMOUS_DEVICE, .mode = 0600};
    struct eventfd *event = heap_alloc(sizeof(*event));
    struct file *file;

    if (event == NULL)
        return NULL;
    event->count = start->count;
    event->semaphore = start->semaphore != 0;
    file = file_create(&eventfd_kind, &facts, flags | 2, event, NULL);
    if (file == NULL)
        heap_free(event, sizeof(*event));
    return file;
}

static int make(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    struct event_start start;

    if (size != sizeof(start))
        return -EPROTO;
    memcpy(&start, data, sizeof(start));
    made[0] = create(flags, &start);
    return made[0] != NULL ? 0 : -ENOMEM;
}

void eventfd_init(void)
{
    anonymous_register(ANONYMOUS_EVENT, make);
}
