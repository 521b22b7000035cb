/* The end of a process. See the header. Runs at the home of the process: process_ended in the worker that has ended the
 * group, the operations in handlers or tasks. The state of the zombie is under group->lock, and exactly one of them
 * forgets the group. */
#include "tasks/family/end.h"

#include "kernel/abi/errno.h"
#include "tasks/family/children.h"
#include "tasks/family/session.h"
#include "tasks/process/call.h"
#include "tasks/remote/watch.h"
#include "tasks/signal/signal.h"

/* PROCESS_REAPED: the parent has waited for the process; its id may be given out again. */
int64_t process_reaped(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    const struct process *process = group->process;
    bool gone;

    (void)call;
    spin_lock(&group->lock);
    result->used = (struct account_used){.use = group->gone.use, .peak = process->peak};
    account_used_add(&result->used, &process->children_used);
    gone = group->process->zombie;
    group->process->zombie = false;
    spin_unlock(&group->lock);
    if (gone)
        group_forget(group);
    return 0;
}

/* Fills in the status and times that the parent gets at the end. */
static void give_end_locked(struct group *group, struct msg_process_result *result)
{
    const struct process *process = group->process;

    result->status = process->status;
    result->uid = process->credentials.uid;
    result->user_ns = group->gone_user_ns + process->children_user_ns;
    result->system_ns = group->gone_system_ns + process->children_system_ns;
}

int64_t process_new_parent(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process *process = group->process;
    uint32_t parent = call->parent.is;
    struct signal_info info = {.code = SI_USER, .pid = call->parent.was};
    bool ended, gone;

    spin_lock(&group->lock);
    process->parent = parent;
    process->exit_signal = SIGCHLD;
    ended = process->zombie;
    gone = ended && parent == PROCESS_INIT;
    if (ended)
        give_end_locked(group, result);
    else
        info.signal = process->attributes[ATTRIBUTE_DEATH_SIGNAL];
    if (gone)
        process->zombie = false;
    spin_unlock(&group->lock);
    if (info.signal != 0)
        signal_send_group(group, &info);
    if (gone) /* init never waits for children */
        group_forget(group);
    return ended ? 1 : 0;
}

/* The end of GROUP as its parent gets it. */
static struct msg_process_call end_locked(struct group *group, struct msg_process_result *result)
{
    give_end_locked(group, result);
    return (struct msg_process_call){
        .id = group->process->parent, .type = MSG_PROCESS_CHILD_EVENT, .event = child_ended(group->id, result)};
}

/* PARENT does not wait for the zombie GROUP: releases it, unless it has another parent by now, which has been notified
 * by who has said so. */
static void release(struct group *group, uint32_t parent)
{
    struct process *process = group->process;
    bool gone;

    spin_lock(&group->lock);
    gone = process->zombie && process->parent == parent;
    if (gone)
        process->zombie = false;
    spin_unlock(&group->lock);
    if (gone)
        group_forget(group);
}

int process_ended_again(struct group *group)
{
    struct msg_process_result result;
    struct msg_process_call call;
    int64_t value = 0;
    bool zombie;

    spin_lock(&group->lock);
    zombie = group->process != NULL && group->process->zombie;
    if (zombie)
        call = end_locked(group, &result);
    spin_unlock(&group->lock);
    if (zombie)
        value = process_call_surely(&call, &result);
    if (value == 1 || value == -ESRCH)
        release(group, call.id);
    return value == -ENOMEM ? -ENOMEM : 0;
}

void process_ended(struct group *group)
{
    struct process *process = group->process;
    struct msg_process_result result;
    struct msg_process_call call;
    bool forget;

    if (process->session == group->id && !process->first)
        group_hooks.session_ended(process->session);
    children_give_away(group);
    spin_lock(&group->lock);
    process->zombie = process->over = true;
    call = end_locked(group, &result);
    spin_unlock(&group->lock);
    if (process->first)
        group_hooks.first_ended(process->status);
    group_hooks.ended(group);
    /* 0: the parent keeps the end, and sends REAPED later */
    forget = call.id == PROCESS_INIT || process_call_surely(&call, &result) != 0;
    if (call.id != PROCESS_INIT && result.parent_session == process->session &&
        result.parent_group != process->process_group) /* this process may have kept its group from being orphaned */
        session_look_after(process->process_group, process->session, group->id);
    if (forget)
        release(group, call.id);
    watch_event(&process->child_events); /* abandoned watches hold the group, and their CANCEL may be lost */
}
