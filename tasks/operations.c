/* What a process is asked at its home (tasks/process/call.h): which room does which operation. */
#include "kernel/abi/errno.h"
#include "tasks/family/children.h"
#include "tasks/family/end.h"
#include "tasks/family/session.h"
#include "tasks/process/attribute.h"
#include "tasks/process/call.h"
#include "tasks/process/limit.h"
#include "tasks/process/permission.h"
#include "tasks/process/process.h"
#include "tasks/process/stop.h"
#include "tasks/signal/action.h"
#include "tasks/signal/signal.h"
#include "tasks/timer/process/alarm.h"
#include "tasks/timer/process/process_timer.h"

static int64_t read_locked(struct group *group, const uint32_t *word)
{
    uint32_t value;

    spin_lock(&group->lock);
    value = *word;
    spin_unlock(&group->lock);
    return value;
}

int64_t process_operate(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process *process = group->process;

    switch (call->operation) {
    case PROCESS_PARENT:
        return read_locked(group, &process->parent);
    case PROCESS_GET_GROUP:
        return read_locked(group, &process->process_group);
    case PROCESS_GET_SESSION:
        return read_locked(group, &process->session);
    case PROCESS_SET_GROUP:
        return session_set_group(group, call, result);
    case PROCESS_SET_SESSION:
        return session_set_leader(group, result);
    case PROCESS_SIGNAL:
        return process_signal(group, call);
    case PROCESS_WAIT:
        return children_wait(group, call, result);
    case PROCESS_TAKE_SIGNAL:
        return process_take_signal(group, call, result);
    case PROCESS_TAKE_ACTION:
        return process_take_action(group, call->a, result);
    case PROCESS_SET_ACTION:
        return process_set_action(group, call, result);
    case PROCESS_STOP:
        stop_group(group, (uint32_t)call->a, call->b);
        return 0;
    case PROCESS_CONTINUE:
        stop_continue(group);
        return 0;
    case PROCESS_PENDING:
        spin_lock(&group->lock);
        result->hint = process->signals.pending;
        spin_unlock(&group->lock);
        return 0;
    case PROCESS_RETARGET:
        signal_retarget(group, call->a);
        return 0;
    case PROCESS_NEW_PARENT:
        return process_new_parent(group, call, result);
    case PROCESS_CHILD_EVENT:
        return children_event(group, call, result);
    case PROCESS_CHILD_GROUP:
        return children_set_group(group, call);
    case PROCESS_REAPED:
        return process_reaped(group, result);
    case PROCESS_TIMES:
        spin_lock(&group->lock);
        result->children_user_ns = process->children_user_ns;
        result->children_system_ns = process->children_system_ns;
        result->members = group_members_locked(group);
        result->peak = process->peak;
        spin_unlock(&group->lock);
        return 0;
    case PROCESS_CHILDREN_USED:
    case PROCESS_CHILDREN_IO:
    case PROCESS_ENDED_IO:
    case PROCESS_ADD_USED:
    case PROCESS_ADD_IO:
        process_account(group, call, result);
        return 0;
    case PROCESS_UMASK:
        if ((call->a & PROCESS_UMASK_ASK) != 0)
            return process_umask_of(process);
        return __atomic_exchange_n(&process->umask->bits, (uint32_t)call->a & 0777, __ATOMIC_RELAXED);
    case PROCESS_ALARM:
        return alarm_operate(group, call, result);
    case PROCESS_ADOPT:
        return children_adopt(group, call, result);
    case PROCESS_ATTRIBUTE:
        return process_attribute_operate(group, call);
    case PROCESS_SET_IDS:
        return process_set_ids(group, call);
    case PROCESS_MAY_SIGNAL:
        return process_may_signal(group, call);
    case PROCESS_MAY_REACH:
        return process_may_reach(group, call);
    case PROCESS_LIMIT:
        return process_limit_operate(group, call, result);
    case PROCESS_TIMER_CREATE:
    case PROCESS_TIMER_SET:
    case PROCESS_TIMER_GET:
    case PROCESS_TIMER_OVERRUN:
    case PROCESS_TIMER_TAKEN:
    case PROCESS_TIMER_DELETE:
        return process_timer_operate(group, call, result);
    default:
        return -EPROTO;
    }
}
