/* Signals of a process at its home: pending signals and actions. See the header. */
#include "tasks/signal/action.h"

#include "kernel/abi/errno.h"
#include "tasks/process/call.h"
#include "tasks/remote/operation.h"
#include "tasks/signal/action_cache.h"
#include "tasks/signal/hint.h"
#include "tasks/signal/signal.h"
#include "tasks/signal/wire.h"

void (*signal_timer_taken_locked)(struct group *group, struct signal_info *info);

/* Takes a pending signal of SET into *INFO. *HINT: the signals that are pending afterwards. */
static bool take_pending_locked(struct group *group, uint64_t set, struct signal_info *info, uint64_t *hint)
{
    struct process *process = group->process;
    bool taken = false;

    if (!process->pruning) /* while exec prunes threads, signals stay pending for the new program */
        taken = signal_queue_take(&process->signals, set, info);
    if (taken && (SIGNAL_BIT(info->signal) & SIGNAL_STOPPING) != 0)
        info->extra = process->continues; /* stop_begin compares it: a SIGCONT in between cancels the stop */
    if (taken && info->code == SI_TIMER)
        signal_timer_taken_locked(group, info);
    *hint = process->signals.pending;
    return taken;
}

int64_t process_take_signal(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    bool taken;

    spin_lock(&group->lock);
    taken = take_pending_locked(group, call->signals, &result->info, &result->hint);
    spin_unlock(&group->lock);
    return taken ? 1 : 0;
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

/* Puts INFO, a signal of GROUP that is taken, and its action into ANSWER, if both fit. */
static bool fit_locked(struct group *group, const struct signal_info *info, struct msg_signal_taken *answer)
{
    const struct signal_action *action = &group->process->actions[info->signal - 1];
    uint64_t mask = action->mask, stamp = 0;
    struct signal_action taken;

    if ((action->flags & SA_NODEFER) == 0)
        mask &= ~SIGNAL_BIT(info->signal); /* its handler runs with it blocked anyway */
    if ((info->value | info->extra | mask) != 0 || action->handler >= USER_END ||
        take_locked(group, info->signal, &taken, &stamp) != 0)
        return false;
    answer->handler = taken.handler;
    answer->signal = info->signal;
    answer->restorer = taken.restorer;
    answer->stamp = stamp;
    answer->flags = (uint32_t)taken.flags; /* a C library may have extended the sign: no flag is above */
    answer->code = info->code;
    answer->pid = info->pid;
    answer->uid = info->uid;
    return true;
}

/* SIGNAL_TAKE: a signal and its action in one step. */
static int run_take(const struct remote_request *request, void *out)
{
    const struct msg_signal_take *message = request->data;
    struct msg_signal_taken *answer = out;
    struct group *group = group_find(message->group);
    struct signal_info info;
    int length = -ESRCH;

    if (group == NULL)
        return length;
    if (group->process != NULL) {
        *answer = (struct msg_signal_taken){.taking = SIGNAL_NONE};
        spin_lock(&group->lock);
        if (take_pending_locked(group, message->set, &info, &answer->hint))
            answer->taking = fit_locked(group, &info, answer) ? SIGNAL_WITH_ACTION : SIGNAL_TAKEN;
        spin_unlock(&group->lock);
        if (answer->taking == SIGNAL_TAKEN)
            answer->info = info;
        length = sizeof(*answer);
    }
    group_put(group);
    return length;
}

enum signal_taking signal_take_acting(struct group *group, uint64_t set, struct signal_info *info,
                                      struct signal_action *action, uint64_t *hint)
{
    const struct msg_signal_take message = {.set = set, .group = group->id};
    struct msg_signal_taken answer;
    int length = remote_ask_sure(process_home(group->id), MSG_SIGNAL_TAKE, &message, sizeof(message), &answer,
                                 sizeof(answer), "signal of its process", group->id);

    if (length != -ENOMEM) /* else the signals stay in the hint */
        *hint = length < 0 ? 0 : answer.hint;
    if (length < 0 || answer.taking > SIGNAL_WITH_ACTION)
        return SIGNAL_NONE;
    *info = answer.info;
    if (answer.taking == SIGNAL_WITH_ACTION)
        *info = (struct signal_info){
            .signal = answer.signal, .code = answer.code, .pid = answer.pid, .uid = answer.uid};
    if (answer.taking != SIGNAL_NONE && info->signal - 1 >= SIGNALS) /* no home answers so */
        return SIGNAL_NONE;
    if (answer.taking == SIGNAL_WITH_ACTION) {
        *action = (struct signal_action){answer.handler, answer.flags, answer.restorer, 0};
        action_cache_note(group, info->signal, action, answer.stamp);
    }
    return answer.taking;
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
        else /* what members are due is a superset of what each is: one that was told may have been sent it since */
            process->hints.forgets &= ~SIGNAL_BIT(signal);
    }
    spin_unlock(&group->lock);
    if (forget) {
        signal_forget(group, SIGNAL_BIT(signal));
        hint_forget(group, SIGNAL_BIT(signal));
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

void signal_action_init(void)
{
    REMOTE_SERVE(SIGNAL_TAKE, run_take, NULL, struct msg_signal_take, struct msg_signal_taken);
}

int64_t process_signal(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    if (call->info.signal > SIGNALS)
        return -EINVAL;
    if (call->tells > KERNELS_MAX)
        return -EPROTO;
    if (call->info.signal == 0)
        return 0;
    return signal_send_group_for(group, &call->info, call->tells != 0 ? 1ull << (call->tells - 1) : 0, &result->hint);
}
