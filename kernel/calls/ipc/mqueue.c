/* System calls on POSIX message queues (kernel/ipc/mqueue/mqueue.h). */
#include "kernel/ipc/mqueue/mqueue.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/anonymous.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/path.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/file/remote.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/call.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/process/limit.h"
#include "tasks/remote/notify.h"
#include "tasks/thread/thread.h"

#define SECOND 1000000000ull
#define NOTIFY_SIGNAL 0u /* SIGEV_* */
#define NOTIFY_NONE 1u

struct linux_attr { /* struct mq_attr */
    int64_t flags, count_max, size_max, count, unused[4];
};

struct linux_event { /* struct sigevent */
    uint64_t value;
    int32_t signal, notify;
    uint64_t rest[6];
};

/* Performs OPERATION on the queue whose name is at user ADDRESS. Kernel 0 has the names. */
static int64_t by_name(enum ipc_operation operation, struct ipc_call *call, uint64_t address,
                       struct file_answer *answer)
{
    struct ipc_call *memory;
    char *text;
    int64_t error;
    size_t length;

    call->operation = operation;
    call->pid = thread_current()->group->id;
    permission_user(&thread_current()->context.credentials, &call->user);
    text = files_path(address, &error);
    if (text == NULL)
        return error;
    length = strlen(text) + 1;
    memory = heap_alloc(sizeof(*call) + length);
    if (memory != NULL) {
        *memory = *call;
        memcpy(memory + 1, text, length);
        error = ipc_ask(memory, sizeof(*call) + length, NULL, 0, answer);
    } else {
        error = -ENOMEM;
    }
    heap_free(memory, sizeof(*call) + length);
    heap_free(text, PATH_MAX);
    return error;
}

/* RLIMIT_MSGQUEUE of the current process, at most UINT32_MAX, or an error: the process ends, or its home has not
 * answered. */
static int64_t bytes_limit(void)
{
    struct msg_process_call call = {
        .id = thread_current()->group->id, .type = MSG_PROCESS_LIMIT, .limit.which = LIMIT_MSGQUEUE};
    struct msg_process_result result;
    int64_t error = process_call_surely(&call, &result);

    if (error != 0)
        return error;
    return result.limit.soft < UINT32_MAX ? (uint32_t)result.limit.soft : UINT32_MAX;
}

int64_t call_mq_open(struct call *c)
{
    struct ipc_call call = {.flags = (uint32_t)c->a[1]};
    struct linux_attr attr;
    struct file_answer answer;
    int64_t error;

    if ((call.flags & OPEN_CREATE) != 0 && c->a[3] != 0) {
        if (user_read(&attr, c->a[3], sizeof(attr)) != 0)
            return -EFAULT;
        if (attr.count_max <= 0 || attr.size_max <= 0)
            return -EINVAL;
        call.a = attr.count_max;
        call.b = attr.size_max;
    }
    if ((call.flags & OPEN_CREATE) != 0) {
        int64_t limit = bytes_limit();

        if (limit < 0)
            return limit;
        call.task = (uint32_t)limit;
        call.id = (int32_t)files_mode((uint32_t)c->a[2] & 0777);
    }
    error = by_name(IPC_QUEUE_OPEN, &call, c->a[0], &answer);
    if (error != 0)
        return error;
    return files_give(MSG_FILE_INSTALL, &(struct file_place){.id = answer.id},
                      DESCRIPTOR_CLOEXEC); /* even without O_CLOEXEC, as in Linux */
}

int64_t call_mq_unlink(struct call *c)
{
    struct ipc_call call = {.flags = 0};
    struct file_answer answer;

    return by_name(IPC_QUEUE_UNLINK, &call, c->a[0], &answer);
}

/* Ends the wait of the current thread at PLACE, because of ERROR, or with 0 after a notice. Returns its answer or, if
 * it has not been served, ERROR. Without memory for its message it gives up, and the message goes back to its place. */
static int64_t take(const struct file_place *place, int64_t error, void *result, size_t room,
                    struct file_answer *answer)
{
    const struct file_request request = {.operation = MSG_FILE_OPERATE, .special.what = SPECIAL_QUEUE};
    struct mqueue_call call = {.operation = MQUEUE_TAKE, .task = thread_current()->tid};
    int64_t value = file_call_surely(place, &request, &call, sizeof(call), result, room, answer);

    if (value == -ENOMEM) {
        error = value;
        value = file_call_surely(place, &request, &call, sizeof(call), NULL, 0, answer);
    }
    return error != 0 && value < 0 ? error : value == -EINTR ? -ERESTARTSYS : value;
}

/* Real-time threads come before the others, in the order of their priorities; the others in that of their nice values,
 * as on Linux. */
static uint32_t urgency(const struct thread_context *context)
{
    uint32_t priority = context->policy >> POLICY_PRIORITY_SHIFT;

    return priority > 0 ? 40 + priority : (uint32_t)(19 - context->nice);
}

/* Sets *DEADLINE (ns as clock_now; 0: none) to the absolute time at user address AT, or to none if AT is 0. */
static int64_t read_deadline(uint64_t at, uint64_t *deadline)
{
    uint64_t time[2], now = clock_epoch() + clock_now();

    *deadline = 0;
    if (at == 0)
        return 0;
    if (user_read(time, at, sizeof(time)) != 0)
        return -EFAULT;
    if ((int64_t)time[0] < 0 || time[1] >= SECOND)
        return -EINVAL;
    if (time[0] <= INT64_MAX / SECOND / 2) {
        *deadline = time[0] * SECOND + time[1];
        *deadline = *deadline > now ? *deadline - clock_epoch() : 1; /* the time has passed */
    }
    return 0;
}

struct queue_wait {
    struct remote_wait wait;
    struct completion done;
};

static void notified(struct remote_wait *wait, const uint64_t *words)
{
    (void)words;
    completion_signal(&container_of(wait, struct queue_wait, wait)->done);
}

/* 0: the queue at PLACE has served the thread, or has been closed. -ERESTARTSYS, -ETIMEDOUT. */
static int64_t wait_for(struct queue_wait *w, const struct file_place *place, uint64_t deadline)
{
    const struct wait_reason reason = {.what = "a message queue",
                                       .kernel = place->kernel == instance.kernel ? -1 : (int32_t)place->kernel,
                                       .key = place->id};

    if (completion_wait_until(&w->done, &reason, WAIT_INTERRUPTIBLE, deadline))
        return 0;
    return deadline != 0 && clock_now() >= deadline ? -ETIMEDOUT : -ERESTARTSYS;
}

/* Performs CALL (SIZE bytes) on the queue FD. Waits until the absolute time at user address AT, or without a limit if
 * AT is 0. -EBADF: FD is no queue, or has been closed meanwhile. */
static int64_t transfer(int64_t fd, struct mqueue_call *call, size_t size, void *result, size_t room, uint64_t at)
{
    const struct thread *thread = thread_current();
    struct file_place place;
    struct file_answer answer;
    struct queue_wait w;
    uint64_t deadline;
    int64_t value = read_deadline(at, &deadline);

    if (value != 0)
        return value;
    call->task = thread->tid;
    call->kernel = instance.kernel;
    call->urgency = urgency(&thread->context);
    completion_init(&w.done);
    remote_wait_begin(&w.wait, 0, notified);
    call->token = w.wait.token;
    value = anonymous_call(fd, SPECIAL_QUEUE, 0, call, size, result, room, &answer);
    if (value == -EINPROGRESS) {
        place = (struct file_place){.id = answer.id, .kernel = answer.kernel};
        value = take(&place, wait_for(&w, &place, deadline), result, room, &answer);
    }
    remote_wait_end(&w.wait);
    return value == -ESRCH || value == -EINVAL ? -EBADF : value;
}

int64_t call_mq_timedsend(struct call *c)
{
    size_t size = c->a[2], length = sizeof(struct mqueue_call) + size;
    struct mqueue_call *call;
    int64_t result = 0;

    if (c->a[3] >= MQUEUE_PRIORITIES)
        return -EINVAL;
    if (size > MQUEUE_MESSAGE_MAX)
        return files_error((int32_t)c->a[0], -EMSGSIZE);
    call = heap_alloc(length);
    if (call == NULL)
        return -ENOMEM;
    *call = (struct mqueue_call){.operation = MQUEUE_SEND,
                                 .priority = (uint32_t)c->a[3],
                                 .process = thread_current()->group->id,
                                 .signal = thread_current()->context.credentials.uid};
    if (size > 0 && user_read(call + 1, c->a[1], size) != 0)
        result = files_error((int32_t)c->a[0], -EFAULT);
    if (result == 0)
        result = transfer((int32_t)c->a[0], call, length, NULL, 0, c->a[4]);
    heap_free(call, length);
    return result;
}

int64_t call_mq_timedreceive(struct call *c)
{
    struct mqueue_call call = {.operation = MQUEUE_RECEIVE, .size = c->a[2]};
    size_t room = sizeof(uint32_t) + (c->a[2] < MQUEUE_MESSAGE_MAX ? c->a[2] : MQUEUE_MESSAGE_MAX);
    uint32_t priority;
    uint8_t *message = heap_alloc_unset(room);
    int64_t result;

    if (message == NULL)
        return -ENOMEM;
    result = transfer((int32_t)c->a[0], &call, sizeof(call), message, room, c->a[4]);
    if (result > (int64_t)room)
        result = -EPROTO;
    if (result > 0) {
        memcpy(&priority, message, sizeof(priority));
        result -= (int64_t)sizeof(priority);
        if (result > 0 && user_write(c->a[1], message + sizeof(priority), (uint64_t)result) != 0)
            result = -EFAULT;
        if (result >= 0 && c->a[3] != 0 && user_write(c->a[3], &priority, sizeof(priority)) != 0)
            result = -EFAULT;
    }
    heap_free(message, room);
    return result;
}

int64_t call_mq_notify(struct call *c)
{
    struct mqueue_call call = {.operation = MQUEUE_NOTIFY, .process = thread_current()->group->id};
    struct linux_event event;
    int64_t result;

    if (c->a[1] != 0) {
        if (user_read(&event, c->a[1], sizeof(event)) != 0)
            return -EFAULT;
        if (event.notify != (int32_t)NOTIFY_NONE &&
            (event.notify != (int32_t)NOTIFY_SIGNAL || event.signal <= 0 || event.signal > (int32_t)SIGNALS))
            return -EINVAL;
        call.size = 1;
        call.signal = event.notify == (int32_t)NOTIFY_SIGNAL ? (uint32_t)event.signal : 0;
        call.value = event.value;
        result = files_do((struct file_request){.operation = MSG_FILE_NOTE_OWNER,
                                                .process = call.process}); /* its end or a close unregisters it */
        if (result != 0)
            return result;
    }
    return transfer((int32_t)c->a[0], &call, sizeof(call), NULL, 0, 0);
}

int64_t call_mq_getsetattr(struct call *c)
{
    struct mqueue_call call = {.operation = MQUEUE_STATE};
    struct linux_attr attr = {.flags = 0}, new;
    struct mqueue_state state;
    int64_t result;

    if (c->a[1] != 0) {
        if (user_read(&new, c->a[1], sizeof(new)) != 0)
            return -EFAULT;
        if ((new.flags & ~(int64_t)OPEN_NONBLOCK) != 0)
            return -EINVAL;
    }
    result = transfer((int32_t)c->a[0], &call, sizeof(call), &state, sizeof(state), 0);
    if (result < 0)
        return result;
    if (c->a[1] != 0)
        files_do((struct file_request){
            .operation = MSG_FILE_SET_FLAGS, .fd = (int32_t)c->a[0], .flags = (uint32_t) new.flags});
    attr.flags = state.flags;
    attr.count_max = state.count_max;
    attr.size_max = state.size_max;
    attr.count = state.count;
    return c->a[2] != 0 ? user_write(c->a[2], &attr, sizeof(attr)) : 0;
}
