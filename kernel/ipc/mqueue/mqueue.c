/* POSIX message queues. See the header. A queue is freed after its name has been removed and its last file closed. */
#include "kernel/ipc/mqueue/mqueue.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/permission.h"
#include "kernel/fs/node/node.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/quota/quota.h"

#define QUEUES_MAX 256u /* with names, as Linux's queues_max */
#define NAME_BYTES 256u

struct message {
    struct list node;
    uint32_t priority;
    size_t size;
    uint8_t bytes[];
};

struct mqueue {
    struct list node;     /* [k] in `queues`; alone once its name has been removed */
    uint32_t references;  /* [k] one for its name, one for each open file */
    struct list messages; /* [k] in the order in which they are received */
    int64_t count, count_max, size_max;
    uint32_t mode, uid, gid; /* [i] */
    uint32_t payer;          /* [i] the user who made it, in whose quota it counts */
    uint64_t counted;        /* [i] bytes there */
    bool wanted;             /* [k] a thread has found it full or empty and may wait */
    bool receives;           /* [k] a blocking receiver has found it empty */
    uint32_t process;        /* [k] the process registered by mq_notify(3); 0: none */
    uint32_t signal;         /* [k] the signal it gets; 0: none is sent */
    uint64_t value;          /* [k] of the signal */
    struct file_events events;
    char name[NAME_BYTES]; /* [i] */
};

#define MESSAGE_WEIGHT 48u /* struct msg_msg of Linux */
#define LEVEL_WEIGHT 48u   /* struct posix_msg_tree_node */

static struct spinlock lock;
static struct list queues = {&queues, &queues}; /* [k] */
static uint32_t queue_count;                    /* [k] */

static struct mqueue *find_locked(const char *name)
{
    list_for_each(at, &queues) {
        struct mqueue *queue = container_of(at, struct mqueue, node);

        if (strcmp(queue->name, name) == 0)
            return queue;
    }
    return NULL;
}

static void put(struct mqueue *queue)
{
    bool last;

    spin_lock(&lock);
    last = --queue->references == 0;
    spin_unlock(&lock);
    if (!last)
        return;
    while (!list_empty(&queue->messages)) {
        struct message *message = container_of(queue->messages.next, struct message, node);

        list_remove(&message->node);
        heap_free(message, sizeof(*message) + message->size);
    }
    quota_give(QUOTA_QUEUE_BYTES, queue->payer, queue->counted);
    heap_free(queue, sizeof(*queue));
}

/* What a queue of COUNT messages of BYTES counts: mq_overview(7). */
static uint64_t weight_of(uint64_t count, uint64_t bytes)
{
    return count * (bytes + MESSAGE_WEIGHT) + (count < MQUEUE_PRIORITIES ? count : MQUEUE_PRIORITIES) * LEVEL_WEIGHT;
}

/* Wakes the waiting threads if WANTED. Without the lock. */
static void notify_readiness(struct mqueue *queue, bool wanted)
{
    if (wanted)
        file_event(&queue->events);
}

static bool take_wanted_locked(struct mqueue *queue)
{
    bool wanted = queue->wanted || !list_empty(&queue->events.polls);

    queue->wanted = queue->receives = false;
    return wanted;
}

/* Inserts MESSAGE behind those of the same priority. Under the lock. */
static void insert(struct mqueue *queue, struct message *message)
{
    struct list *at = &queue->messages;

    while (at->previous != &queue->messages &&
           container_of(at->previous, struct message, node)->priority < message->priority)
        at = at->previous;
    list_insert_before(&message->node, at);
    queue->count++;
}

static int64_t send(struct file *file, const struct mqueue_call *call, const void *data, size_t size)
{
    struct mqueue *queue = file->state;
    struct msg_process_call news = {.type = MSG_PROCESS_SIGNAL};
    struct message *message;
    bool wanted = false, notify = false;
    int64_t result = 0;

    if ((file->flags & OPEN_ACCESS) == 0)
        return -EBADF;
    if (size > (size_t)queue->size_max)
        return -EMSGSIZE;
    message = heap_alloc(sizeof(*message) + size);
    if (message == NULL)
        return -ENOMEM;
    message->priority = call->priority;
    message->size = size;
    memcpy(message->bytes, data, size);
    spin_lock(&lock);
    if (queue->count == queue->count_max) {
        queue->wanted = true;
        result = -EAGAIN;
    } else {
        notify = queue->count == 0 && queue->process != 0 && !queue->receives;
        if (notify) {
            news.id = queue->process;
            news.info = (struct signal_info){.signal = queue->signal,
                                             .code = SI_MESGQ,
                                             .pid = call->process,
                                             .uid = call->signal,
                                             .value = queue->value};
            queue->process = 0;
        }
        insert(queue, message);
        message = NULL;
        wanted = take_wanted_locked(queue);
    }
    spin_unlock(&lock);
    if (message != NULL)
        heap_free(message, sizeof(*message) + message->size);
    notify_readiness(queue, wanted);
    if (notify && news.info.signal != 0 && process_notify(&news) != 0) { /* no memory: it stays registered */
        spin_lock(&lock);
        if (queue->process == 0)
            queue->process = news.id;
        spin_unlock(&lock);
    }
    return result;
}

static int64_t receive(struct file *file, const struct mqueue_call *call, void *result, size_t room)
{
    struct mqueue *queue = file->state;
    struct message *message = NULL;
    bool wanted = false;
    int64_t value = -EAGAIN;

    if ((file->flags & OPEN_ACCESS) == 1)
        return -EBADF;
    if (call->size < (uint64_t)queue->size_max)
        return -EMSGSIZE;
    spin_lock(&lock);
    if (list_empty(&queue->messages)) {
        queue->wanted = true;
        queue->receives |= (file->flags & OPEN_NONBLOCK) == 0;
    } else {
        message = container_of(queue->messages.next, struct message, node);
        if (room < sizeof(message->priority) + message->size) {
            message = NULL;
            value = -EPROTO;
        } else {
            list_remove(&message->node);
            queue->count--;
            wanted = take_wanted_locked(queue);
        }
    }
    spin_unlock(&lock);
    if (message == NULL)
        return value;
    memcpy(result, &message->priority, sizeof(message->priority));
    memcpy((uint8_t *)result + sizeof(message->priority), message->bytes, message->size);
    value = (int64_t)(sizeof(message->priority) + message->size);
    heap_free(message, sizeof(*message) + message->size);
    notify_readiness(queue, wanted);
    return value;
}

static int64_t give_state(struct file *file, void *result, size_t room)
{
    struct mqueue *queue = file->state;
    struct mqueue_state state;

    if (room < sizeof(state))
        return -EPROTO;
    spin_lock(&lock);
    state = (struct mqueue_state){.flags = file->flags & OPEN_NONBLOCK,
                                  .count_max = queue->count_max,
                                  .size_max = queue->size_max,
                                  .count = queue->count};
    spin_unlock(&lock);
    memcpy(result, &state, sizeof(state));
    return sizeof(state);
}

/* A receiver no longer waits. Others may still wait: they are woken, and those that find no message set `receives`
 * again. */
static int64_t give_up(struct mqueue *queue)
{
    bool wanted;

    spin_lock(&lock);
    wanted = take_wanted_locked(queue);
    spin_unlock(&lock);
    notify_readiness(queue, wanted);
    return 0;
}

static int64_t notify(struct mqueue *queue, const struct mqueue_call *call)
{
    int64_t result = 0;

    spin_lock(&lock);
    if (call->size == 0) {
        if (queue->process == call->process)
            queue->process = 0;
    } else if (queue->process != 0) {
        result = -EBUSY;
    } else {
        queue->process = call->process;
        queue->signal = call->signal;
        queue->value = call->value;
    }
    spin_unlock(&lock);
    return result;
}

/* FILE_LOCK without a task: a process has closed a descriptor of the queue, or has ended, which ends its registration
 * by mq_notify(3). */
static int64_t act(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                   size_t room, struct file_answer *answer)
{
    struct mqueue *queue = file->state;
    struct file_lock who;

    (void)answer;
    if (request->operation != MSG_FILE_LOCK)
        return FILE_AS_ANY;
    (void)result;
    (void)room;
    if (size != sizeof(who))
        return -EPROTO;
    memcpy(&who, data, sizeof(who));
    if (who.task != 0)
        return FILE_AS_ANY;
    spin_lock(&lock);
    if (queue->process == who.process)
        queue->process = 0;
    spin_unlock(&lock);
    return 0;
}

static int64_t operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                       void *result, size_t room, struct file_answer *answer)
{
    const uint8_t *rest = (const uint8_t *)data + sizeof(struct mqueue_call);
    struct mqueue_call call;

    (void)answer;
    if (request->special.what != SPECIAL_QUEUE)
        return -EINVAL;
    if (size < sizeof(call))
        return -EPROTO;
    memcpy(&call, data, sizeof(call));
    switch (call.operation) {
    case MQUEUE_SEND:
        return send(file, &call, rest, size - sizeof(call));
    case MQUEUE_RECEIVE:
        return receive(file, &call, result, room);
    case MQUEUE_STATE:
        return give_state(file, result, room);
    case MQUEUE_NOTIFY:
        return call.signal > SIGNALS ? -EPROTO : notify(file->state, &call);
    case MQUEUE_GIVE_UP:
        return give_up(file->state);
    default:
        return -EPROTO;
    }
}

static uint32_t mqueue_poll(struct file *file)
{
    struct mqueue *queue = file->state;
    uint32_t events = 0;

    spin_lock(&lock);
    if (queue->count > 0)
        events |= POLL_IN | POLL_IN_NORMAL;
    if (queue->count < queue->count_max)
        events |= POLL_OUT | POLL_OUT_NORMAL;
    spin_unlock(&lock);
    return events;
}

static void forget(struct file *file)
{
    put(file->state);
}

static const struct file_kind mqueue_kind = {
    .poll = mqueue_poll, .act = act, .operate = operate, .forget = forget, .flushes = true};

/* Makes a queue named NAME, with one reference, its name's. 0 or an error. */
static int64_t make_locked(const struct ipc_call *call, const char *name, size_t size, struct mqueue **out)
{
    int64_t count = call->a != 0 ? call->a : (int64_t)MQUEUE_USER_COUNT;
    int64_t bytes = call->b != 0 ? call->b : (int64_t)MQUEUE_USER_SIZE;
    bool root = call->user.uid == 0;
    struct mqueue *queue;
    uint64_t weight;
    int error;

    if (count <= 0 || bytes <= 0 || bytes > (int64_t)MQUEUE_MESSAGE_MAX ||
        (!root && (count > (int64_t)MQUEUE_USER_COUNT || bytes > (int64_t)MQUEUE_USER_SIZE)))
        return -EINVAL;
    if (count > (int64_t)MQUEUE_BYTES_MAX / bytes)
        return -EMFILE;
    if (queue_count == QUEUES_MAX && !root)
        return -ENOSPC;
    weight = weight_of((uint64_t)count, (uint64_t)bytes);
    error = quota_take(QUOTA_QUEUE_BYTES, call->user.uid, weight, call->task, -EMFILE);
    if (error != 0)
        return error;
    queue = heap_alloc(sizeof(*queue));
    if (queue == NULL) {
        quota_give(QUOTA_QUEUE_BYTES, call->user.uid, weight);
        return -ENOMEM;
    }
    queue->payer = call->user.uid;
    queue->counted = weight;
    list_init(&queue->messages);
    file_events_init(&queue->events);
    queue->count_max = count;
    queue->size_max = bytes;
    queue->mode = (uint32_t)call->id & 0777;
    queue->uid = call->user.uid;
    queue->gid = call->user.gid;
    memcpy(queue->name, name, size);
    queue->references = 1;
    list_append(&queues, &queue->node);
    queue_count++;
    *out = queue;
    return 0;
}

static int64_t check_name(const char *name, size_t size)
{
    if (size == 0 || strnlen(name, size) != size - 1)
        return -EPROTO;
    if (size == 1)
        return -ENOENT;
    if (size > NAME_BYTES)
        return -ENAMETOOLONG;
    return strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? -EACCES : 0;
}

int64_t mqueue_open(const struct ipc_call *call, const char *name, size_t size, struct file_answer *answer)
{
    static const uint32_t may[4] = {MAY_READ, MAY_WRITE, MAY_READ | MAY_WRITE, MAY_READ | MAY_WRITE};
    struct file_facts facts = {.device = ANONYMOUS_DEVICE, .mode = FILE_REGULAR};
    struct mqueue *queue;
    struct file *file;
    int64_t error = check_name(name, size);

    if (error != 0)
        return error;
    spin_lock(&lock);
    queue = find_locked(name);
    if (queue == NULL)
        error = (call->flags & OPEN_CREATE) == 0 ? -ENOENT : make_locked(call, name, size, &queue);
    else if ((call->flags & OPEN_CREATE) != 0 && (call->flags & OPEN_EXCLUSIVE) != 0)
        error = -EEXIST;
    else if ((call->flags & OPEN_ACCESS) == OPEN_ACCESS)
        error = -EINVAL;
    else
        error = permission_check(&call->user, queue->mode, queue->uid, queue->gid, may[call->flags & OPEN_ACCESS]);
    if (error == 0)
        queue->references++;
    spin_unlock(&lock);
    if (error != 0)
        return error;
    facts.mode |= queue->mode;
    facts.uid = queue->uid;
    facts.gid = queue->gid;
    file = file_create(&mqueue_kind, &facts, call->flags & (OPEN_ACCESS | OPEN_NONBLOCK), queue, &queue->events);
    if (file == NULL) {
        put(queue);
        return -ENOMEM;
    }
    answer->id = file->id;
    return 0;
}

int64_t mqueue_unlink(const struct ipc_call *call, const char *name, size_t size)
{
    struct mqueue *queue = NULL;
    int64_t error = check_name(name, size);

    if (error != 0)
        return error;
    spin_lock(&lock);
    queue = find_locked(name);
    if (queue == NULL)
        error = -ENOENT;
    else if (!permission_owner(&call->user, queue->uid)) /* as in a directory with the sticky bit */
        error = -EPERM;
    if (error == 0) {
        list_remove(&queue->node);
        queue_count--;
    }
    spin_unlock(&lock);
    if (error == 0)
        put(queue);
    return error;
}
