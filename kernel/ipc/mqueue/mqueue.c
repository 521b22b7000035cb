/* POSIX message queues. See the header. A queue is freed after its name has been removed and its last file closed. */
#include "kernel/ipc/mqueue/mqueue.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/operation.h"
#include "kernel/file/permission.h"
#include "kernel/fs/node/node.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/mqueue/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "msg/slice.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/quota/quota.h"

#define QUEUES_MAX 256u    /* with names, as Linux's queues_max */
#define MESSAGE_WEIGHT 48u /* struct msg_msg of Linux */
#define LEVEL_WEIGHT 48u   /* struct posix_msg_tree_node */

static struct spinlock lock;
static struct list named = {&named, &named};          /* [k] queues that can be opened */
static struct list nameless = {&nameless, &nameless}; /* [k] those whose name has been removed */
static uint32_t queue_count;                          /* [k] in `named` */

static struct mqueue *find_locked(const char *name)
{
    list_for_each(at, &named) {
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

static void notified(struct remote_notice *notice)
{
    struct mqueue_notice *sent = container_of(notice, struct mqueue_notice, notice);

    heap_free(sent, sizeof(*sent));
}

/* After a change of QUEUE, without the lock. */
static void finish(struct mqueue *queue, struct mqueue_outcome *outcome)
{
    const struct msg_process_call news = {.id = outcome->process, .type = MSG_PROCESS_SIGNAL, .info = outcome->info};

    while (!list_empty(&outcome->notices)) {
        struct mqueue_notice *notice = container_of(outcome->notices.next, struct mqueue_notice, node);

        list_remove(&notice->node);
        if (notice->kernel == instance.kernel || msg_peer_reachable(notice->kernel)) /* it is what the caller said */
            remote_notify(&notice->notice, notice->kernel, notice->token, NULL, 0, notified);
        else
            notified(&notice->notice);
    }
    if (outcome->event)
        file_event(&queue->events);
    if (outcome->process != 0 && outcome->info.signal != 0 && process_notify(&news) != 0) {
        spin_lock(&lock); /* no memory: it stays registered */
        if (queue->process == 0)
            queue->process = outcome->process;
        spin_unlock(&lock);
    }
}

/* A task that asks to send or to receive does not wait. If it does, it could not tell that it gave up. */
static void begin_locked(struct mqueue *queue, uint32_t task, struct mqueue_outcome *outcome)
{
    struct waiter *waiter = mqueue_find_waiter(queue, task);

    if (waiter != NULL)
        mqueue_end_wait_locked(queue, waiter, outcome);
}

/* Sends MESSAGE. 0 or -EINPROGRESS: the queue or a waiter has it. */
static int64_t send_locked(struct file *file, const struct mqueue_call *call, struct message *message,
                           struct mqueue_outcome *outcome)
{
    struct mqueue *queue = file->state;

    begin_locked(queue, call->task, outcome);
    if (queue->count >= queue->count_max && list_empty(&queue->receivers))
        return (file->flags & OPEN_NONBLOCK) != 0 ? -EAGAIN : mqueue_wait_locked(file, call, message);
    mqueue_arrive_locked(queue, message, outcome);
    return 0;
}

static int64_t send(struct file *file, const struct mqueue_call *call, const void *data, size_t size)
{
    struct mqueue *queue = file->state;
    struct mqueue_outcome outcome;
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
    message->process = call->process;
    message->uid = call->signal;
    message->size = size;
    memcpy(message->bytes, data, size);
    mqueue_outcome_init(&outcome);
    spin_lock(&lock);
    result = send_locked(file, call, message, &outcome);
    spin_unlock(&lock);
    if (result != 0 && result != -EINPROGRESS)
        mqueue_free_message(message);
    finish(queue, &outcome);
    return result;
}

static size_t length_of(const struct message *message)
{
    return sizeof(message->priority) + message->size;
}

/* Copies MESSAGE to RESULT, which has room for it, and frees it. Returns how many bytes that are. */
static int64_t give_message(struct message *message, void *result)
{
    int64_t length = (int64_t)length_of(message);

    memcpy(result, &message->priority, sizeof(message->priority));
    memcpy((uint8_t *)result + sizeof(message->priority), message->bytes, message->size);
    mqueue_free_message(message);
    return length;
}

/* Sets *MESSAGE to the first one, which is taken from the queue. 0, or an error. */
static int64_t receive_locked(struct file *file, const struct mqueue_call *call, size_t room, struct message **message,
                              struct mqueue_outcome *outcome)
{
    struct mqueue *queue = file->state;
    struct message *first;

    begin_locked(queue, call->task, outcome);
    if (list_empty(&queue->messages))
        return (file->flags & OPEN_NONBLOCK) != 0 ? -EAGAIN : mqueue_wait_locked(file, call, NULL);
    first = container_of(queue->messages.next, struct message, node);
    if (room < length_of(first))
        return -EPROTO;
    list_remove(&first->node);
    queue->count--;
    mqueue_let_in_locked(queue, outcome);
    outcome->event = true;
    *message = first;
    return 0;
}

static int64_t receive(struct file *file, const struct mqueue_call *call, void *result, size_t room)
{
    struct mqueue *queue = file->state;
    struct mqueue_outcome outcome;
    struct message *message = NULL;
    int64_t value;

    if ((file->flags & OPEN_ACCESS) == 1)
        return -EBADF;
    if (call->size < (uint64_t)queue->size_max)
        return -EMSGSIZE;
    mqueue_outcome_init(&outcome);
    spin_lock(&lock);
    value = receive_locked(file, call, room, &message, &outcome);
    spin_unlock(&lock);
    finish(queue, &outcome);
    return message != NULL ? give_message(message, result) : value;
}

/* The answer of CALL's task; see MQUEUE_TAKE. Sets *MESSAGE to what it has received. */
static int64_t take_locked(struct mqueue *queue, const struct mqueue_call *call, size_t room, struct message **message,
                           struct mqueue_outcome *outcome)
{
    struct waiter *waiter = mqueue_find_waiter(queue, call->task);

    if (waiter == NULL)
        return -ESRCH;
    if (waiter->served && (waiter->sends || room >= length_of(waiter->message))) {
        *message = waiter->message;
        waiter->message = NULL;
        mqueue_forget_waiter(queue, waiter);
        return 0;
    }
    mqueue_end_wait_locked(queue, waiter, outcome);
    return -EINTR;
}

static int64_t take(struct mqueue *queue, const struct mqueue_call *call, void *result, size_t room)
{
    struct mqueue_outcome outcome;
    struct message *message = NULL;
    int64_t value;

    mqueue_outcome_init(&outcome);
    spin_lock(&lock);
    value = take_locked(queue, call, room, &message, &outcome);
    spin_unlock(&lock);
    finish(queue, &outcome);
    return message != NULL ? give_message(message, result) : value;
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

/* FILE's owner and permissions are those of its queue. */
static void show_owner_locked(struct file *file)
{
    const struct mqueue *queue = file->state;

    spin_lock(&file->lock);
    file->facts.mode = FILE_REGULAR | queue->mode;
    file->facts.uid = queue->uid;
    file->facts.gid = queue->gid;
    spin_unlock(&file->lock);
}

/* FILE_CHANGE */
static int64_t change_owner_locked(struct file *file, const void *data, size_t size)
{
    struct mqueue *queue = file->state;
    int64_t error;

    show_owner_locked(file);
    error = file_change_facts(file, data, size);
    if (error != 0)
        return error;
    spin_lock(&file->lock);
    queue->mode = file->facts.mode & 07777;
    queue->uid = file->facts.uid;
    queue->gid = file->facts.gid;
    spin_unlock(&file->lock);
    return 0;
}

static int64_t owner(struct file *file, uint32_t operation, const void *data, size_t size)
{
    int64_t result = FILE_AS_ANY;

    spin_lock(&lock);
    if (operation == MSG_FILE_STAT)
        show_owner_locked(file);
    else
        result = change_owner_locked(file, data, size);
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
    if (request->operation == MSG_FILE_STAT || request->operation == MSG_FILE_CHANGE)
        return owner(file, request->operation, data, size);
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
    if (call.kernel >= KERNELS_MAX)
        return -EPROTO;
    switch (call.operation) {
    case MQUEUE_SEND:
        return send(file, &call, rest, size - sizeof(call));
    case MQUEUE_RECEIVE:
        return receive(file, &call, result, room);
    case MQUEUE_STATE:
        return give_state(file, result, room);
    case MQUEUE_NOTIFY:
        return call.signal > SIGNALS ? -EPROTO : notify(file->state, &call);
    case MQUEUE_TAKE:
        return take(file->state, &call, result, room);
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
    struct mqueue_outcome outcome;

    mqueue_outcome_init(&outcome);
    spin_lock(&lock);
    mqueue_end_waits_locked(queue, file, 0, &outcome);
    spin_unlock(&lock);
    finish(queue, &outcome);
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
    list_append(&named, &queue->node);
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
        list_append(&nameless, &queue->node);
        queue_count--;
    }
    spin_unlock(&lock);
    if (error == 0)
        put(queue);
    return error;
}

/* Ends what KERNEL has to do with the next queue of LIST, with *OUTCOME, which is returned, with a reference. NULL:
 * clean-up ROUND has looked at all. */
static struct mqueue *lose_locked(struct list *list, uint32_t kernel, uint32_t round, struct mqueue_outcome *outcome)
{
    list_for_each(at, list) {
        struct mqueue *queue = container_of(at, struct mqueue, node);

        if (queue->lost == round)
            continue;
        queue->lost = round;
        if (queue->process != 0 && process_home(queue->process) == kernel)
            queue->process = 0;
        mqueue_end_waits_locked(queue, NULL, kernel, outcome);
        queue->references++;
        return queue;
    }
    return NULL;
}

void mqueue_lost(uint32_t kernel)
{
    static uint32_t round;
    struct mqueue *looked;

    round++;
    do { /* nothing is told with the lock held, and then the lists may change */
        struct mqueue_outcome outcome;

        mqueue_outcome_init(&outcome);
        spin_lock(&lock);
        looked = lose_locked(&named, kernel, round, &outcome);
        if (looked == NULL)
            looked = lose_locked(&nameless, kernel, round, &outcome);
        spin_unlock(&lock);
        if (looked != NULL) {
            finish(looked, &outcome);
            put(looked);
        }
        slice_check();
    } while (looked != NULL);
}
