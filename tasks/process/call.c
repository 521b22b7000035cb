/* Asking the home of a process. See the header. */
#include "tasks/process/call.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/process/group.h"
#include "tasks/remote/post.h"
#include "tasks/role/role.h"
#include "tasks/sched/sched.h"

uint32_t process_home(uint32_t id)
{
    return role_kernel(id >> TID_KERNEL_SHIFT);
}

/* Init has no threads: it takes every signal and does nothing. */
static int64_t operate_init(const struct msg_process_call *call)
{
    switch (call->operation) {
    case PROCESS_GET_GROUP:
    case PROCESS_GET_SESSION:
        return PROCESS_INIT;
    case PROCESS_PARENT:
    case PROCESS_SIGNAL:
        return 0;
    case PROCESS_MAY_SIGNAL: /* it is root's */
        return (uint32_t)call->a == 0 ? 0 : -EPERM;
    default:
        return -ESRCH;
    }
}

static int64_t operate_here(const struct msg_process_call *call, struct msg_process_result *result)
{
    struct group *group = group_find(call->id);
    int64_t value = -ESRCH;

    if (call->id == PROCESS_INIT)
        return operate_init(call);
    if (group != NULL) {
        if (group->process != NULL)
            value = process_operate(group, call, result);
        group_put(group);
    }
    return value;
}

static void handle_call(const struct msg *m)
{
    struct msg_process_result result;

    memset(&result, 0, sizeof(result));
    result.value = operate_here(m->data, &result);
    msg_reply(&m->ticket, &result, sizeof(result));
}

int64_t process_call(const struct msg_process_call *call, struct msg_process_result *result)
{
    int length;

    memset(result, 0, sizeof(*result));
    if (process_home(call->id) >= instance.kernels)
        return -ESRCH;
    if (process_home(call->id) == instance.kernel)
        return operate_here(call, result);
    length = msg_call(process_home(call->id), MSG_PROCESS_CALL, call, sizeof(*call), result, sizeof(*result),
                      "answer about a process", call->id);
    if (length != (int)sizeof(*result))
        return length == -EAGAIN || length >= 0 ? -ESRCH : length;
    return result->value;
}

int64_t process_call_surely(const struct msg_process_call *call, struct msg_process_result *result)
{
    int64_t value;

    while ((value = process_call(call, result)) == -ENOMEM) { /* an answer gives some back */
        msg_poll();
        sched_yield();
    }
    return value;
}

void process_tell(const struct msg_process_call *call)
{
    struct msg_process_result result;

    if (process_home(call->id) == instance.kernel)
        operate_here(call, &result);
    else if (process_home(call->id) < instance.kernels &&
             post(process_home(call->id), MSG_PROCESS_CALL, call, sizeof(*call)) != 0)
        panic("tasks: no memory to tell the home of process %u", call->id);
}

void process_call_init(void)
{
    msg_register(MSG_PROCESS_CALL, handle_call, sizeof(struct msg_process_call), sizeof(struct msg_process_result));
}
