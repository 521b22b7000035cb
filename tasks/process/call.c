/* Asking the home of a process. See the header. */
#include "tasks/process/call.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/post.h"
#include "tasks/role/role.h"

uint32_t process_home(uint32_t id)
{
    return role_kernel(id >> TID_KERNEL_SHIFT);
}

/* Init has no threads: it takes every signal and does nothing. */
static int64_t operate_init(const struct msg_process_call *call)
{
    switch (call->type) {
    case MSG_PROCESS_GET_GROUP:
    case MSG_PROCESS_GET_SESSION:
        return PROCESS_INIT;
    case MSG_PROCESS_PARENT:
    case MSG_PROCESS_SIGNAL:
        return 0;
    case MSG_PROCESS_MAY_SIGNAL: /* it is root's */
        return call->sender.euid == 0 ? 0 : -EPERM;
    default:
        return -ESRCH;
    }
}

static int64_t operate_here(const struct msg_process_call *call, struct msg_process_result *result)
{
    struct group *group = group_find(call->id);
    int64_t value = -ESRCH;

    memset(result, 0, sizeof(*result));
    if (call->id == PROCESS_INIT)
        return operate_init(call);
    if (group != NULL) {
        if (group->process != NULL)
            value = process_operations[call->type - PROCESS_FIRST](group, call, result);
        group_put(group);
    }
    return value;
}

/* -ENOMEM is an error of the operation as such, so that it is tried again; others are answers. */
static int operate(const struct remote_request *request, void *out)
{
    const struct msg_process_call *call = request->data;
    struct msg_process_result *result = out;

    if (call->type != request->type)
        return -EPROTO;
    result->value = operate_here(call, result);
    return result->value == -ENOMEM ? -ENOMEM : (int)sizeof(*result);
}

static int64_t ask(const struct msg_process_call *call, struct msg_process_result *result, bool sure)
{
    const struct remote_how how = {.why = "answer about a process", .key = call->id, .end = WAIT_FIRM, .sure = sure};
    uint32_t home = process_home(call->id);
    int error;

    if (home == instance.kernel && !sure)
        return operate_here(call, result);
    result->value = 0;
    error = remote_call(home, call->type, call, sizeof(*call), result, sizeof(*result), &how);
    if (error >= 0)
        return result->value;
    memset(result, 0, sizeof(*result));
    return error;
}

int64_t process_call(const struct msg_process_call *call, struct msg_process_result *result)
{
    return ask(call, result, false);
}

int64_t process_call_surely(const struct msg_process_call *call, struct msg_process_result *result)
{
    return ask(call, result, true);
}

int process_tell(const struct msg_process_call *call)
{
    struct msg_process_result result;

    if (process_home(call->id) != instance.kernel)
        return post(process_home(call->id), call->type, call, sizeof(*call));
    operate_here(call, &result);
    return 0;
}

void process_call_init(void)
{
    for (uint32_t i = 0; i < PROCESS_OPERATIONS; i++)
        remote_serve((enum msg_type)(PROCESS_FIRST + i), operate, NULL, sizeof(struct msg_process_call),
                     sizeof(struct msg_process_result));
}
