/* POSIX message queues. See the header. A queue is freed after its name has been removed and its last file closed. */
#include "kernel/ipc/mqueue/mqueue.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/permission.h"
#include "kernel/fs/node/node.h"
#include "kernel/ipc/mqueue/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/quota/quota.h"

#define QUEUES_MAX 256u    /* with names, as Linux's queues_max */
#define MESSAGE_WEIGHT 48u /* struct msg_msg of Linux */
#define LEVEL_WEIGHT 48u   /* struct posix_msg_tree_node */

static struct spinlock lock;
static struct list queues = {&queues, &queues}; /* [k] all of them */
static uint32_t queue_count;                    /* [k] with names */

static struct mqueue *find_locked(const char *name)
{
    list_for_each(at, &queues) {
        struct mqueue *queue = container_of(at, struct mqueue, node);

        if (queue->named && strcmp(queue->name, name) == 0)
            return queue;
    }
    return NULL;
}

static void put(struct mqueue *queue)
{
    bool last;

    spin_lock(&lock);
    last = --queue->references == 0;
    if (last)
        list_remove(&queue->node);
    spin_unlock(&lock);
    if (!last)
        return;
    while (!list_empty(&queue->messages)) {
        struct message *message = container_of(queue->messages.next, struct message, node);

        list_remove(&message->node);
        mqueue_free_message(message);
    }
    quota_give(QUOTA_QUEUE_BYTES, queue->payer, queue->counted);
    heap_free(queue, sizeof(*queue));
}

/* What a queue of COUNT messages of BYTES counts: mq_overview(7). */
static uint64_t weight_of(uint64_t count, uint64_t bytes)
{
    return count * (bytes + MESSAGE_WEIGHT) + (count < MQUEUE_PRIORITIES ? count : MQUEUE_PRIORITIES) * LEVEL_WEIGHT;
}

/* --- operations --- */

/* Sends *MESSAGE, which becomes NULL if the queue or a waiter has it. *EVENT: something has changed for those who wait
 * or poll; *ARRIVED: there is a first message, which nobody waits for. */
static int64_t send_locked(struct file *file, const struct mqueue_call *call, struct message **message, bool *event,
                           bool *arrived)
{
    struct mqueue *queue = file->state;
    struct waiter *served = mqueue_find_waiter(&queue->served, call->task);
    int64_t result = 0;

    if (served != NULL && served->sends) {
        mqueue_forget_waiter(queue, served);
        return 0;
    }
    if (mqueue_find_waiter(&queue->senders, call->task) != NULL)
        return -EINPROGRESS;
    *event = mqueue_hand_over_locked(queue, *message);
    if (!*event && queue->count < queue->count_max) {
        *arrived = queue->count == 0;
        *event = true;
        mqueue_insert_locked(queue, *message, false);
    } else if (!*event) {
        result = (file->flags & OPEN_NONBLOCK) != 0 ? -EAGAIN
                                                    : mqueue_wait_locked(file, call, &queue->senders, *message);
    }
    if (result == 0 || result == -EINPROGRESS)
        *message = NULL;
    return result;
}

static int64_t send(struct file *file, const struct mqueue_call *call, const void *data, size_t size)
{
    struct mqueue *queue = file->state;
    struct msg_process_call news = {.type = MSG_PROCESS_SIGNAL};
    bool event = false, arrived = false;
    struct message *message;
    int64_t result;

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
    result = send_locked(file, call, &message, &event, &arrived);
    if (arrived && queue->process != 0) {
        news.id = queue->process;
        news.info = (struct signal_info){.signal = queue->signal,
                                         .code = SI_MESGQ,
                                         .pid = call->process,
                                         .uid = call->signal,
                                         .value = queue->value};
        queue->process = 0;
    }
    spin_unlock(&lock);
    mqueue_free_message(message);
    if (event)
        file_event(&queue->events);
    if (news.info.signal != 0 && process_notify(&news) != 0) { /* no memory: it stays registered */
        spin_lock(&lock);
        if (queue->process == 0)
            queue->process = news.id;
        spin_unlock(&lock);
    }
    return result;
}

/* Takes the message that the task of CALL has got, or the first one; 0, or an error. */
static int64_t receive_locked(struct file *file, const struct mqueue_call *call, size_t room, struct message **message,
                              bool *event)
{
    struct mqueue *queue = file->state;
    struct waiter *served = mqueue_find_waiter(&queue->served, call->task);

    if (served != NULL && !served->sends) {
        if (room < sizeof(served->message->priority) + served->message->size)
            return -EPROTO;
        *message = served->message;
        served->message = NULL;
        mqueue_forget_waiter(queue, served);
        return 0;
    }
    if (mqueue_find_waiter(&queue->receivers, call->task) != NULL)
        return -EINPROGRESS;
    if (list_empty(&queue->messages))
        return (file->flags & OPEN_NONBLOCK) != 0 ? -EAGAIN : mqueue_wait_locked(file, call, &queue->receivers, NULL);
    *message = container_of(queue->messages.next, struct message, node);
    if (room < sizeof((*message)->priority) + (*message)->size) {
        *message = NULL;
        return -EPROTO;
    }
    list_remove(&(*message)->node);
    queue->count--;
    mqueue_let_in_locked(queue);
    *event = true;
    return 0;
}

static int64_t receive(struct file *file, const struct mqueue_call *call, void *result, size_t room)
{
    struct mqueue *queue = file->state;
    struct message *message = NULL;
    bool event = false;
    int64_t value;

    if ((file->flags & OPEN_ACCESS) == 1)
        return -EBADF;
    if (call->size < (uint64_t)queue->size_max)
        return -EMSGSIZE;
    spin_lock(&lock);
    value = receive_locked(file, call, room, &message, &event);
    spin_unlock(&lock);
    if (event)
        file_event(&queue->events);
    if (message == NULL)
        return value;
    memcpy(result, &message->priority, sizeof(message->priority));
    memcpy((uint8_t *)result + sizeof(message->priority), message->bytes, message->size);
    value = (int64_t)(sizeof(message->priority) + message->size);
    mqueue_free_message(message);
    return value;
}

static int64_t give_up(struct mqueue *queue, uint32_t task)
{
    struct list *lists[] = {&queue->senders, &queue->receivers, &queue->served};
    struct waiter *waiter = NULL;
    bool sent = false, event = false;

    spin_lock(&lock);
    for (uint32_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && waiter == NULL; i++)
        waiter = mqueue_find_waiter(lists[i], task);
    if (waiter != NULL) {
        sent = waiter->sends && waiter->message == NULL;
        event = mqueue_end_wait_locked(queue, waiter);
    }
    spin_unlock(&lock);
    if (event)
        file_event(&queue->events);
    return sent;
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
        return give_up(file->state, call.task);
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

/* The file has been closed: who waits by it finds that when it asks again. */
static void release(struct file *file)
{
    struct mqueue *queue = file->state;
    bool event;

    spin_lock(&lock);
    event = mqueue_end_waits_locked(queue, file, 0);
    spin_unlock(&lock);
    if (event)
        file_event(&queue->events);
}

static void forget(struct file *file)
{
    put(file->state);
}

static const struct file_kind mqueue_kind = {
    .poll = mqueue_poll, .act = act, .operate = operate, .release = release, .forget = forget, .flushes = true};

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
    list_init(&queue->senders);
    list_init(&queue->receivers);
    list_init(&queue->served);
    file_events_init(&queue->events);
    queue->count_max = count;
    queue->size_max = bytes;
    queue->mode = (uint32_t)call->id & 0777;
    queue->uid = call->user.uid;
    queue->gid = call->user.gid;
    memcpy(queue->name, name, size);
    queue->references = 1;
    queue->named = true;
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
        queue->named = false;
        queue_count--;
    }
    spin_unlock(&lock);
    if (error == 0)
        put(queue);
    return error;
}

void mqueue_lost(uint32_t kernel)
{
    struct mqueue *queue, *changed;

    do { /* events are counted without the lock, and then the list may change */
        changed = NULL;
        spin_lock(&lock);
        list_for_each(at, &queues) {
            queue = container_of(at, struct mqueue, node);
            if (queue->process != 0 && process_home(queue->process) == kernel)
                queue->process = 0;
            if (mqueue_end_waits_locked(queue, NULL, kernel)) {
                changed = queue;
                changed->references++;
                break;
            }
        }
        spin_unlock(&lock);
        if (changed != NULL) {
            file_event(&changed->events);
            put(changed);
        }
    } while (changed != NULL);
}
