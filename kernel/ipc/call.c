/* Asking kernel 0 for IPC. See the header. */
#include "kernel/ipc/call.h"

#include "kernel/abi/errno.h"
#include "kernel/file/remote.h"
#include "msg/call.h"
#include "tasks/sched/sched.h"

int64_t ipc_ask(const void *data, size_t size, void *result, size_t room, struct file_answer *answer)
{
    struct file_request request = {.operation = FILE_IPC};

    return file_call_zero(&request, data, size, result, room, answer);
}

void ipc_undo(uint32_t process)
{
    struct ipc_call call = {.operation = IPC_SEM_UNDO, .pid = process};
    struct file_answer answer;

    while (ipc_ask(&call, sizeof(call), NULL, 0, &answer) == -ENOMEM) { /* an answer gives some back */
        msg_poll();
        sched_yield();
    }
}
