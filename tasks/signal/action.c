/* Signals of a process at its home: pending signals and actions. See the header. */
#include "tasks/signal/action.h"

#include "kernel/abi/errno.h"
#include "tasks/process/call.h"
#include "tasks/signal/action_cache.h"
#include "tasks/signal/signal.h"

void (*signal_timer_taken_locked)(struct group *group, struct signal_info *info);

int64_t process_take_signal(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process *process = group->process;
    int64_t taken;

    spin_lock(&group->lock);
    taken = 0;
    if (!process->pruning) /* while exec prunes threads, signals stay pending for the new program */
        taken = signal_queue_take(&process->signals, call->signals, &result->info) ? 1 : 0;
    if (taken != 0 && (SIGNAL_BIT(result->info.signal) & SIGNAL_STOPPING) != 0)
        result->info.extra = process->continues; /* stop_begin compares it: a SIGCONT in between cancels the stop */
    if (taken != 0 && result->info.code == SI_TIMER)
        signal_timer_taken_locked(group, &result->info);
    result->hint = process->signals.pending;
    spin_unlock(&group->lock);
    return taken;
}

/* Reads the action of SIGNAL, which is reset if it has SA_RESETHAND, into *TAKEN, and for another kernel its *STAMP.
 * -ESRCH: the thread that wants it is doomed and runs no handler any more. */
static int64_t take_locked(struct group *group, uint32_t signal, struct signal_action *taken, uint64_t *stamp)
{
    struct signal_action *action = &group->process->actions[signal - 1];

    *taken = *action;
    if (action->handler > SIG_IGN) {
        if (group->process->pruning)
            return -ESRCH;
        if ((action->flags & SA_RESETHAND) != 0) {
            action->handler = SIG_DFL; /* nobody remembers what it was: the count may stay */
            return 0;
        }
    }
    if (stamp != NULL)
        *stamp = action_cache_stamp(group->id);
    return 0;
}

int64_t process_take_action(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    uint32_t signal = call->action.signal;
    int64_t error;

    if (signal == 0 || signal > SIGNALS)
        return -EPROTO;
    spin_lock(&group->lock);
    error = take_locked(group, signal, &result->action, &result->stamp);
    spin_unlock(&group->lock);
    return error;
}

bool signal_take_action(struct group *group, uint32_t signal, struct signal_action *action)
{
    struct msg_process_call call = {.id = group->id, .type = MSG_PROCESS_TAKE_ACTION, .action.signal = signal};
    struct msg_process_result result;
    int64_t error;

    if (group->process != NULL) {
        spin_lock(&group->lock);
        error = take_locked(group, signal, action, NULL);
        spin_unlock(&group->lock);
        return error == 0;
    }
    if (action_cache_find(group, signal, action))
        return true;
    if (process_call_surely(&call, &result) != 0)
        return false;
    *action = result.action;
    action_cache_note(group, signal, action, result.stamp);
    return true;
}

static bool ignores(const struct signal_action *action, uint32_t signal)
{
    enum signal_default what = signal_default(signal);

    return action->handler == SIG_IGN ||
           (action->handler == SIG_DFL && (what == SIGNAL_IGNORED || what == SIGNAL_CONTINUES));
}

int64_t process_set_action(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process *process = group->process;
    uint32_t signal = call->action.signal;
    struct signal_action *action;
    bool forget = false;

    if (signal == 0 || signal > SIGNALS)
        return -EPROTO;
    spin_lock(&group->lock);
    action = &process->actions[signal - 1];
    result->action = *action;
    if (call->action.sets != 0) {
        *action = call->action.is;
        action_cache_changed(group->id);
        forget = ignores(action, signal);
        if (forget)
            signal_queue_remove(&process->signals, SIGNAL_BIT(signal));
    }
    spin_unlock(&group->lock);
    if (forget) {
        signal_forget(group, SIGNAL_BIT(signal));
        signal_forget_elsewhere(group, SIGNAL_BIT(signal));
    }
    return 0;
}

int64_t process_action(struct group *group, uint32_t signal, const struct signal_action *action,
                       struct signal_action *old)
{
    struct msg_process_call call = {.id = group->id, .type = MSG_PROCESS_SET_ACTION, .action.signal = signal};
    struct msg_process_result result;
    int64_t error;

    if (action != NULL) {
        call.action.is = *action;
        call.action.sets = 1;
    }
    error = process_call(&call, &result);
    *old = result.action;
    if (error == 0 && action != NULL && ignores(action, signal))
        signal_forget(group, SIGNAL_BIT(signal)); /* on this kernel at once; the home notifies the others */
    return error;
}

void process_reset_actions(struct process *process)
{
    for (uint32_t i = 0; i < SIGNALS; i++) {
        uint64_t handler = process->actions[i].handler == SIG_IGN ? SIG_IGN : SIG_DFL;

        process->actions[i] = (struct signal_action){.handler = handler};
    }
    action_cache_changed(process->group->id);
}

int64_t process_pending(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    (void)call;
    spin_lock(&group->lock);
    result->hint = group->process->signals.pending;
    spin_unlock(&group->lock);
    return 0;
}

int64_t process_retarget(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    (void)result;
    signal_retarget(group, call->signals);
    return 0;
}

int64_t process_signal(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    (void)result;
    if (call->info.signal > SIGNALS)
        return -EINVAL;
    return call->info.signal == 0 ? 0 : signal_send_group(group, &call->info);
}
