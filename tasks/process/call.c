/* Asking the home of a process. See the header. */
#include "tasks/process/call.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/post.h"
#include "tasks/role/role.h"

uint32_t process_home(uint32_t id)
{
    return role_kernel(id >> TID_KERNEL_SHIFT);
}

/* Init has no threads: it accepts every signal and does nothing. */
static int64_t operate_init(const struct msg_process_call *call, struct msg_process_result *result)
{
    switch (call->type) {
    case MSG_PROCESS_GET_GROUP:
    case MSG_PROCESS_GET_SESSION:
        return PROCESS_INIT;
    case MSG_PROCESS_PARENT:
    case MSG_PROCESS_SIGNAL:
        return 0;
    case MSG_PROCESS_MAY_SIGNAL: /* init belongs to root */
        return call->sender.euid == 0 ? 0 : -EPERM;
    case MSG_PROCESS_MAY_REACH:
        return call->reach.uid == 0 ? 0 : -EPERM;
    case MSG_PROCESS_LIMIT:
        result->limit = (struct process_limit){LIMIT_NONE, LIMIT_NONE};
        return 0;
    default:
        return -ESRCH;
    }
}

static int64_t operate_here(const struct msg_process_call *call, struct msg_process_result *result)
{
    struct group *group = group_find(call->id);
    int64_t value = -ESRCH;

    *result = (struct msg_process_result){0};
    if (call->id == PROCESS_INIT)
        return operate_init(call, result);
    if (group != NULL) {
        if (group->process != NULL)
            value = process_operations[call->type - PROCESS_FIRST](group, call, result);
        group_put(group);
    }
    return value;
}

/* -ENOMEM fails the remote operation itself, so that it is retried; any other error is a value of the reply. */
static int operate(const struct remote_request *request, void *out)
{
    const struct msg_process_call *call = request->data;
    struct msg_process_result *result = out;

    if (call->type != request->type)
        return -EPROTO;
    result->value = operate_here(call, result);
    return result->value == -ENOMEM ? -ENOMEM : (int)sizeof(*result);
}

#define WHY "answer about a process"

/* The value of a reply of LENGTH bytes; a negative LENGTH is an error of the remote call. */
static int64_t value_of(int length, struct msg_process_result *result)
{
    if (length >= 0)
        return result->value;
    *result = (struct msg_process_result){0};
    return length;
}

int64_t process_call(const struct msg_process_call *call, struct msg_process_result *result)
{
    uint32_t home = process_home(call->id);

    if (home == instance.kernel)
        return operate_here(call, result);
    return value_of(
        remote_ask(home, (enum msg_type)call->type, call, sizeof(*call), result, sizeof(*result), WHY, call->id),
        result);
}

int64_t process_call_surely(const struct msg_process_call *call, struct msg_process_result *result)
{
    const struct remote_how how = {.why = WHY, .key = call->id, .end = WAIT_FIRM, .sure = true};
    int64_t value = process_call(call, result);

    if (__builtin_expect(value != -ENOMEM, 1))
        return value;
    return value_of(remote_call(process_home(call->id), (enum msg_type)call->type, call, sizeof(*call), result,
                                sizeof(*result), &how),
                    result);
}

int process_notify(const struct msg_process_call *call)
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
