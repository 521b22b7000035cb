/* System V message queues. See ipc.h. */
#include "kernel/abi/errno.h"
#include "kernel/file/permission.h"
#include "kernel/fs/node/node.h"
#include "kernel/ipc/sysv/internal.h"
#include "kernel/lib/list.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

struct message {
    struct list node;
    int64_t type;
    size_t size;
    uint32_t sender; /* the user who has it of QUOTA_IPC_BYTES */
    uint8_t bytes[];
};

struct queue {
    struct ipc_object object; /* facts.count, facts.bytes: the messages in it */
    struct list messages;     /* oldest first */
};

static struct ipc_kind queues;

static struct queue *queue_of(struct ipc_object *object)
{
    return container_of(object, struct queue, object);
}

static void take(struct queue *queue, struct message *message)
{
    size_t size = sizeof(*message) + message->size;

    list_remove(&message->node);
    queue->object.facts.count--;
    queue->object.facts.bytes -= message->size;
    ipc_give_back(message->sender, size);
    heap_free(message, size);
}

static void drop(struct ipc_object *object)
{
    struct queue *queue = queue_of(object);

    while (!list_empty(&queue->messages))
        take(queue, container_of(queue->messages.next, struct message, node));
    heap_free(queue, sizeof(*queue));
}

static int make(const struct ipc_call *call, struct ipc_object **out)
{
    struct queue *queue = heap_alloc(sizeof(*queue));

    (void)call;
    if (queue == NULL)
        return -ENOMEM;
    list_init(&queue->messages);
    queue->object.facts.bytes_max = IPC_QUEUE_MAX;
    *out = &queue->object;
    return 0;
}

static bool fits(const struct ipc_object *object, const struct ipc_call *call)
{
    (void)object;
    (void)call;
    return true;
}

static int64_t send(const struct ipc_call *call, const void *data, size_t size, struct file_answer *answer,
                    struct file **notify)
{
    struct ipc_object *object;
    struct ipc_facts *facts;
    struct message *message;
    int64_t error = ipc_find(&queues, call, MAY_WRITE, &object);

    if (error != 0)
        return error;
    facts = &object->facts;
    if (size > IPC_MESSAGE_MAX || call->b < 1)
        return -EINVAL;
    if (facts->bytes + size > facts->bytes_max || facts->count + 1 > facts->bytes_max)
        return ipc_wait(object, call, answer);
    if (ipc_charge(call, sizeof(*message) + size, -ENOMEM) != 0)
        return -ENOMEM;
    message = heap_alloc(sizeof(*message) + size);
    if (message == NULL) {
        ipc_give_back(call->user.uid, sizeof(*message) + size);
        return -ENOMEM;
    }
    message->sender = call->user.uid;
    message->type = call->b;
    message->size = size;
    memcpy(message->bytes, data, size);
    list_append(&queue_of(object)->messages, &message->node);
    facts->count++;
    facts->bytes += size;
    facts->done_in = node_now();
    facts->pid_in = call->pid;
    ipc_changed(object, notify);
    return 0;
}

/* The message at PLACE, from 0 on, or NULL. */
static struct message *find_at(struct queue *queue, int64_t place)
{
    list_for_each(at, &queue->messages) {
        if (place-- == 0)
            return container_of(at, struct message, node);
    }
    return NULL;
}

/* The message that TYPE asks for (msgrcv(2)), or NULL. */
static struct message *find(struct queue *queue, int64_t type, uint32_t flags)
{
    struct message *best = NULL;

    list_for_each(at, &queue->messages) {
        struct message *message = container_of(at, struct message, node);

        if (type == 0 || (type > 0 && (message->type == type) != ((flags & MSG_EXCEPT) != 0)))
            return message;
        if (type < 0 && (type == INT64_MIN || message->type <= -type) && (best == NULL || message->type < best->type))
            best = message;
    }
    return best;
}

static int64_t receive(const struct ipc_call *call, void *result, size_t room, struct file_answer *answer,
                       struct file **notify)
{
    struct ipc_object *object;
    bool copies = (call->flags & MSG_COPY) != 0;
    struct message *message;
    size_t size;
    int64_t error;

    if (copies && ((call->flags & MSG_EXCEPT) != 0 || (call->flags & IPC_NO_WAIT) == 0))
        return -EINVAL;
    error = ipc_find(&queues, call, MAY_READ, &object);
    if (error != 0)
        return error;
    if (call->a < 0)
        return -EPROTO;
    message = copies ? find_at(queue_of(object), call->b) : find(queue_of(object), call->b, call->flags);
    if (message == NULL)
        return (call->flags & IPC_NO_WAIT) != 0 ? -ENOMSG : ipc_wait(object, call, answer);
    size = message->size;
    if (call->a < (int64_t)size && (call->flags & MSG_NO_ERROR) == 0)
        return -E2BIG;
    if (call->a < (int64_t)size && copies)
        return -EINVAL; /* a copy is whole */
    if (call->a < (int64_t)size)
        size = (size_t)call->a;
    if (room < sizeof(message->type) + size)
        return -EPROTO;
    memcpy(result, &message->type, sizeof(message->type));
    memcpy((uint8_t *)result + sizeof(message->type), message->bytes, size);
    answer->seen = sizeof(message->type) + size;
    if (copies)
        return (int64_t)size;
    take(queue_of(object), message);
    object->facts.done_out = node_now();
    object->facts.pid_out = call->pid;
    ipc_changed(object, notify);
    return (int64_t)size;
}

static int64_t control(const struct ipc_call *call, const void *data, size_t size, void *result, size_t room,
                       struct file_answer *answer, struct file **notify, bool *removed)
{
    struct ipc_object *object;
    struct ipc_facts new;
    int64_t error = ipc_find(&queues, call, call->flags == IPC_STAT ? MAY_READ : 0, &object);

    if (error == 0 && call->flags != IPC_STAT)
        error = ipc_owner(object, call);
    if (error != 0)
        return error;
    switch (call->flags) {
    case IPC_REMOVE:
        ipc_remove(&queues, object, notify);
        *removed = true;
        drop(object);
        return 0;
    case IPC_SET:
        if (size != sizeof(new))
            return -EPROTO;
        memcpy(&new, data, sizeof(new));
        if (new.bytes_max > IPC_QUEUE_MAX && call->user.uid != 0)
            return -EPERM;
        error = ipc_facts(object, call, data, size, result, room, answer);
        if (error != 0)
            return error;
        object->facts.bytes_max = new.bytes_max;
        ipc_changed(object, notify);
        return 0;
    case IPC_STAT:
        return ipc_facts(object, call, data, size, result, room, answer);
    default:
        return -EINVAL;
    }
}

int64_t queue_do(const struct ipc_call *call, const void *data, size_t size, void *result, size_t room,
                 struct file_answer *answer, struct file **notify, bool *removed)
{
    switch (call->operation) {
    case IPC_MSG_GET:
        return ipc_get(&queues, call, sizeof(struct queue), make, fits, drop);
    case IPC_MSG_SEND:
        return send(call, data, size, answer, notify);
    case IPC_MSG_RECEIVE:
        return receive(call, result, room, answer, notify);
    case IPC_MSG_CONTROL:
        if (call->flags == IPC_NEXT)
            return ipc_next_facts(&queues, call, result, room, answer);
        return control(call, data, size, result, room, answer, notify, removed);
    default:
        return -EPROTO;
    }
}
