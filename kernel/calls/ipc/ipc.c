/* System calls on System V semaphores and message queues (kernel/ipc/sysv/ipc.h). Kernel 0 performs each call in one
 * step. If it answers that the caller must wait, the calling thread waits here and retries. A wait that is interrupted
 * without a signal (a move, a freeze) makes the call begin again. */
#include "kernel/ipc/sysv/ipc.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/ipc/ipc.h"
#include "kernel/file/permission.h"
#include "kernel/ipc/call.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/process/group.h"
#include "tasks/remote/watch.h"
#include "tasks/thread/thread.h"

#define SECOND 1000000000ull

struct linux_semid {
    struct linux_perm perm;
    int64_t operated, unused1, changed, unused2;
    uint64_t count, unused3, unused4;
};

struct linux_msqid {
    struct linux_perm perm;
    int64_t sent, received, changed;
    uint64_t bytes, count, bytes_max;
    int32_t sender, receiver;
    uint64_t unused[2];
};

_Static_assert(sizeof(struct linux_semid) == 104 && sizeof(struct linux_msqid) == 120, "Linux ABI");

struct ipc_call ipc_begin(enum ipc_operation operation, int32_t id)
{
    struct credentials who = thread_current()->context.credentials;
    struct ipc_call call = {.operation = operation, .id = id, .pid = thread_current()->group->id};

    who.fsuid = who.euid;
    who.fsgid = who.egid;
    who.root = 0;
    permission_user(&who, &call.user); /* stays zero for root */
    return call;
}

/* Reports that the caller no longer waits for its semaphore operations. If they have been performed or refused after
 * all, sets *RESULT. */
static void give_up(const struct ipc_call *call, int64_t *result)
{
    int64_t done = ipc_give_up(call->id, call->task);

    if (done != 0)
        *result = done > 0 ? 0 : done;
}

/* Sends CALL with the SIZE bytes at DATA behind it. Waits while kernel 0 requires it, until DEADLINE (clock_now ns; 0:
 * none). */
static int64_t ask(struct ipc_call *call, const void *data, size_t size, void *result, size_t room, uint64_t deadline)
{
    size_t length = sizeof(*call) + size;
    struct ipc_call *memory = heap_alloc_unset(length);
    struct file_answer answer;
    bool waited = false;
    int64_t value;

    if (memory == NULL)
        return -ENOMEM;
    if (size > 0)
        memcpy(memory + 1, data, size);
    for (;;) {
        *memory = *call;
        value = ipc_ask(memory, length, result, room, &answer);
        if (value != -EAGAIN || (answer.flags & FILE_MAY_WAIT) == 0)
            break;
        waited = true;
        value = watch_wait_at(answer.kernel, WATCH_FILE, answer.id, answer.seen, "a System V object", deadline);
        if (value == -ETIMEDOUT)
            value = -EAGAIN;
        if (value < 0)
            break;
        call->flags |= IPC_AGAIN;
    }
    if (waited && value < 0 && call->operation == IPC_SEM_OPERATE)
        give_up(call, &value);
    heap_free(memory, length);
    return value;
}

void ipc_fill_perm(const struct ipc_facts *facts, struct linux_perm *perm)
{
    *perm = (struct linux_perm){.key = facts->key,
                                .uid = facts->uid,
                                .gid = facts->gid,
                                .cuid = facts->creator_uid,
                                .cgid = facts->creator_gid,
                                .mode = facts->mode,
                                .sequence = (uint16_t)facts->sequence};
}

int64_t call_semget(struct call *c)
{
    struct ipc_call call = ipc_begin(IPC_SEM_GET, 0);

    call.key = (int32_t)c->a[0];
    call.a = (int32_t)c->a[1];
    call.flags = (uint32_t)c->a[2] & ~IPC_AGAIN;
    return ask(&call, NULL, 0, NULL, 0, 0);
}

/* If a step has SEM_UNDO: notifies the process's home, which has the steps undone at the process's end. */
static int64_t note_undo(const struct ipc_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((steps[i].flags & SEM_UNDO) != 0)
            return files_do(
                (struct file_request){.operation = MSG_FILE_NOTE_UNDO, .process = thread_current()->group->id});
    }
    return 0;
}

static int64_t operate(struct call *c, uint64_t deadline)
{
    size_t count = (uint32_t)c->a[2], size = count * sizeof(struct ipc_step);
    struct ipc_call call = ipc_begin(IPC_SEM_OPERATE, (int32_t)c->a[0]);
    struct ipc_step *steps;
    int64_t result;

    call.task = thread_current()->tid;
    if (count < 1 || call.id < 0)
        return -EINVAL;
    if (count > SEM_OPERATIONS_MAX)
        return -E2BIG;
    steps = heap_alloc(size);
    if (steps == NULL)
        return -ENOMEM;
    result = user_read(steps, c->a[1], size) != 0 ? -EFAULT : note_undo(steps, count);
    if (result == 0)
        result = ask(&call, steps, size, NULL, 0, deadline);
    heap_free(steps, size);
    return result == -ERESTARTSYS ? -ERESTARTNOHAND : result; /* a handled signal ends it, even with SA_RESTART */
}

int64_t call_semop(struct call *c)
{
    return operate(c, 0);
}

/* If the call is restarted because the thread has moved, its timeout starts anew. */
int64_t call_semtimedop(struct call *c)
{
    uint64_t time[2];

    if (c->a[3] == 0)
        return operate(c, 0);
    if (user_read(time, c->a[3], sizeof(time)) != 0)
        return -EFAULT;
    if ((int64_t)time[0] < 0 || time[1] >= SECOND)
        return -EINVAL;
    return operate(c, time[0] > INT64_MAX / SECOND / 2 ? 0 : clock_now() + time[0] * SECOND + time[1]);
}

static int64_t stat_set(struct ipc_call *call, uint64_t address)
{
    struct ipc_facts facts;
    struct linux_semid set = {.count = 0};
    int64_t error;

    call->flags = IPC_STAT;
    error = ask(call, NULL, 0, &facts, sizeof(facts), 0);
    if (error < 0)
        return error;
    ipc_fill_perm(&facts, &set.perm);
    set.operated = (int64_t)(facts.done_in / SECOND);
    set.changed = (int64_t)(facts.changed / SECOND);
    set.count = facts.count;
    return user_write(address, &set, sizeof(set)) != 0 ? -EFAULT : error;
}

static int64_t change_owner(struct ipc_call *call, uint64_t address)
{
    struct ipc_facts facts = {.key = 0};
    struct linux_semid set;

    if (user_read(&set, address, sizeof(set)) != 0)
        return -EFAULT;
    facts.uid = set.perm.uid;
    facts.gid = set.perm.gid;
    facts.mode = set.perm.mode;
    call->flags = IPC_SET;
    return ask(call, &facts, sizeof(facts), NULL, 0, 0);
}

/* Gets, or SETS, the values of all semaphores of a set. */
static int64_t all_values(struct ipc_call *call, uint64_t address, bool sets)
{
    struct ipc_call look = *call;
    struct ipc_facts facts;
    uint16_t *user;
    int32_t *values;
    int64_t error;

    look.flags = IPC_NEXT; /* returns the number of semaphores even without read permission */
    look.id = (int32_t)((uint32_t)call->id % IPC_SLOTS);
    error = ask(&look, NULL, 0, &facts, sizeof(facts), 0);
    if (error < 0)
        return error;
    if (error != call->id)
        return -EINVAL;
    error = 0;
    values = heap_alloc(facts.count * sizeof(*values));
    user = heap_alloc(facts.count * sizeof(*user));
    if (values == NULL || user == NULL)
        error = -ENOMEM;
    if (error == 0 && sets && user_read(user, address, facts.count * sizeof(*user)) != 0)
        error = -EFAULT;
    for (uint32_t i = 0; error == 0 && sets && i < facts.count; i++)
        values[i] = user[i];
    if (error == 0)
        error = sets ? ask(call, values, facts.count * sizeof(*values), NULL, 0, 0)
                     : ask(call, NULL, 0, values, facts.count * sizeof(*values), 0);
    for (uint32_t i = 0; error == 0 && !sets && i < facts.count; i++)
        user[i] = (uint16_t)values[i];
    if (error == 0 && !sets && user_write(address, user, facts.count * sizeof(*user)) != 0)
        error = -EFAULT;
    heap_free(values, facts.count * sizeof(*values));
    heap_free(user, facts.count * sizeof(*user));
    return error;
}

int64_t call_semctl(struct call *c)
{
    struct ipc_call call = ipc_begin(IPC_SEM_CONTROL, (int32_t)c->a[0]);

    call.flags = (uint32_t)c->a[2] & ~IPC_COMMAND_64;
    call.a = (int32_t)c->a[1];
    if (call.id < 0)
        return -EINVAL;
    switch (call.flags) {
    case IPC_STAT:
        return stat_set(&call, c->a[3]);
    case IPC_SET:
        return change_owner(&call, c->a[3]);
    case SEM_GET_ALL:
    case SEM_SET_ALL:
        return all_values(&call, c->a[3], call.flags == SEM_SET_ALL);
    case SEM_SET_VALUE:
        call.b = (int32_t)c->a[3];
        if (call.b < 0 || call.b > SEM_VALUE_MAX)
            return -ERANGE;
        return ask(&call, NULL, 0, NULL, 0, 0);
    case IPC_REMOVE:
    case SEM_GET_VALUE:
    case SEM_GET_PID:
    case SEM_GET_WAITERS:
    case SEM_GET_ZERO_WAITERS:
        return ask(&call, NULL, 0, NULL, 0, 0);
    default:
        return -EINVAL;
    }
}

int64_t call_msgget(struct call *c)
{
    struct ipc_call call = ipc_begin(IPC_MSG_GET, 0);

    call.key = (int32_t)c->a[0];
    call.flags = (uint32_t)c->a[1] & ~IPC_AGAIN;
    return ask(&call, NULL, 0, NULL, 0, 0);
}

int64_t call_msgsnd(struct call *c)
{
    struct ipc_call call = ipc_begin(IPC_MSG_SEND, (int32_t)c->a[0]);
    size_t size = c->a[2];
    uint8_t *bytes = NULL;
    int64_t result = 0;

    if (user_read(&call.b, c->a[1], sizeof(call.b)) != 0)
        return -EFAULT;
    if (size > IPC_MESSAGE_MAX || call.id < 0 || call.b < 1)
        return -EINVAL;
    call.flags = (uint32_t)c->a[3] & ~IPC_AGAIN;
    if (size > 0 && (bytes = heap_alloc_unset(size)) == NULL)
        return -ENOMEM;
    if (size > 0 && user_read(bytes, c->a[1] + sizeof(call.b), size) != 0)
        result = -EFAULT;
    if (result == 0)
        result = ask(&call, bytes, size, NULL, 0, 0);
    heap_free(bytes, size);
    return result == -ERESTARTSYS ? -ERESTARTNOHAND : result;
}

int64_t call_msgrcv(struct call *c)
{
    struct ipc_call call = ipc_begin(IPC_MSG_RECEIVE, (int32_t)c->a[0]);
    size_t room = sizeof(int64_t) + (c->a[2] < IPC_MESSAGE_MAX ? c->a[2] : IPC_MESSAGE_MAX);
    uint8_t *message;
    int64_t result;

    if (call.id < 0 || (int64_t)c->a[2] < 0)
        return -EINVAL;
    call.a = (int64_t)c->a[2];
    call.b = (int64_t)c->a[3];
    call.flags = (uint32_t)c->a[4] & ~IPC_AGAIN;
    message = heap_alloc_unset(room);
    if (message == NULL)
        return -ENOMEM;
    result = ask(&call, NULL, 0, message, room, 0);
    if (result > (int64_t)(room - sizeof(int64_t)))
        result = -EPROTO;
    if (result >= 0 && user_write(c->a[1], message, sizeof(int64_t) + (size_t)result) != 0)
        result = -EFAULT;
    heap_free(message, room);
    return result == -ERESTARTSYS ? -ERESTARTNOHAND : result;
}

int64_t call_msgctl(struct call *c)
{
    struct ipc_call call = ipc_begin(IPC_MSG_CONTROL, (int32_t)c->a[0]);
    struct linux_msqid queue = {.bytes = 0};
    struct ipc_facts facts = {.key = 0};
    int64_t error;

    call.flags = (uint32_t)c->a[1] & ~IPC_COMMAND_64;
    if (call.id < 0)
        return -EINVAL;
    switch (call.flags) {
    case IPC_REMOVE:
        return ask(&call, NULL, 0, NULL, 0, 0);
    case IPC_SET:
        if (user_read(&queue, c->a[2], sizeof(queue)) != 0)
            return -EFAULT;
        facts.uid = queue.perm.uid;
        facts.gid = queue.perm.gid;
        facts.mode = queue.perm.mode;
        facts.bytes_max = queue.bytes_max;
        return ask(&call, &facts, sizeof(facts), NULL, 0, 0);
    case IPC_STAT:
        error = ask(&call, NULL, 0, &facts, sizeof(facts), 0);
        if (error < 0)
            return error;
        ipc_fill_perm(&facts, &queue.perm);
        queue.sent = (int64_t)(facts.done_in / SECOND);
        queue.received = (int64_t)(facts.done_out / SECOND);
        queue.changed = (int64_t)(facts.changed / SECOND);
        queue.bytes = facts.bytes;
        queue.count = facts.count;
        queue.bytes_max = facts.bytes_max;
        queue.sender = (int32_t)facts.pid_in;
        queue.receiver = (int32_t)facts.pid_out;
        return user_write(c->a[2], &queue, sizeof(queue)) != 0 ? -EFAULT : 0;
    default:
        return -EINVAL;
    }
}
