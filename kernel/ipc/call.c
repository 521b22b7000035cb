/* Asking kernel 0 for IPC. See the header. */
#include "kernel/ipc/call.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/remote/operation.h"

/* What comes back: an answer, and behind it result data. */
static int64_t take(int length, const struct file_answer *told, struct file_answer *answer)
{
    *answer = length >= 0 ? *told : (struct file_answer){.value = length};
    return answer->value;
}

int64_t ipc_ask(struct ipc_call *call, size_t size, void *result, size_t room, struct file_answer *answer)
{
    const struct remote_how how = {.why = "IPC", .key = (uint64_t)call->id};
    struct file_answer *told = heap_alloc_unset(sizeof(*told) + room);
    int64_t value;
    int length;

    if (told == NULL)
        return take(-ENOMEM, NULL, answer);
    call->room = (uint32_t)room;
    length = remote_call(0, MSG_IPC, call, (uint32_t)size, told, (uint32_t)(sizeof(*told) + room), &how);
    if (length > (int)sizeof(*told))
        memcpy(result, told + 1, (size_t)length - sizeof(*told));
    value = take(length, told, answer);
    heap_free(told, sizeof(*told) + room);
    return value;
}

void ipc_undo(uint32_t process)
{
    const struct remote_how how = {.why = "semaphores to be undone", .key = process, .sure = true};
    const struct ipc_call call = {.operation = IPC_SEM_UNDO, .pid = process};
    struct file_answer answer;

    remote_call(0, MSG_IPC, &call, sizeof(call), &answer, sizeof(answer), &how);
}
