/* Asking kernel 0 for IPC. See the header. */
#include "kernel/ipc/call.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/remote/operation.h"

/* Copies the answer that kernel 0 has sent to ANSWER, or makes one of the error LENGTH. Returns its value. */
static int64_t take(int length, const struct file_answer *notified, struct file_answer *answer)
{
    *answer = length >= 0 ? *notified : (struct file_answer){.value = length};
    return answer->value;
}

int64_t ipc_ask(struct ipc_call *call, size_t size, void *result, size_t room, struct file_answer *answer)
{
    const struct remote_how how = {.why = "IPC", .key = (uint64_t)call->id};
    struct file_answer *notified = heap_alloc_unset(sizeof(*notified) + room);
    int64_t value;
    int length;

    if (notified == NULL)
        return take(-ENOMEM, NULL, answer);
    call->room = (uint32_t)room;
    length = remote_call(0, MSG_IPC, call, (uint32_t)size, notified, (uint32_t)(sizeof(*notified) + room), &how);
    if (length > (int)sizeof(*notified))
        memcpy(result, notified + 1, (size_t)length - sizeof(*notified));
    value = take(length, notified, answer);
    heap_free(notified, sizeof(*notified) + room);
    return value;
}

int64_t ipc_give_up(int32_t id, uint32_t task)
{
    const struct remote_how how = {.why = "a semaphore's waiter", .key = task, .sure = true};
    const struct ipc_call call = {.operation = IPC_SEM_GIVE_UP, .id = id, .task = task};
    struct file_answer answer;
    int length = remote_call(0, MSG_IPC, &call, sizeof(call), &answer, sizeof(answer), &how);

    return length == (int)sizeof(answer) ? answer.value : 0;
}

void ipc_undo(uint32_t process)
{
    const struct remote_how how = {.why = "semaphores to be undone", .key = process, .sure = true};
    const struct ipc_call call = {.operation = IPC_SEM_UNDO, .pid = process};
    struct file_answer answer;

    remote_call(0, MSG_IPC, &call, sizeof(call), &answer, sizeof(answer), &how);
}
