/* Waiting for signals without taking them: poll(2) and epoll_wait(2) on descriptors of signalfd(2). See signal.h. */
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/signal/signal.h"

/* Which of SET are pending. As signal_take: what the home is asked for leaves the hint before, and what it says comes
 * in behind, so that one which is sent meanwhile is in the hint whatever the order. */
static uint64_t pending_of(struct thread *thread, uint64_t set)
{
    struct group *group = thread->group;
    struct msg_process_call call = {.id = group->id, .type = MSG_PROCESS_PENDING};
    struct msg_process_result result;
    uint64_t pending;
    bool ask;

    spin_lock(&group->lock);
    pending = thread->signals.pending & set;
    ask = pending == 0 && (group->signal_hint & set) != 0;
    if (ask)
        group->signal_hint &= ~set;
    spin_unlock(&group->lock);
    if (!ask || process_call(&call, &result) != 0)
        return pending;
    spin_lock(&group->lock);
    group->signal_hint |= result.hint;
    pending = (thread->signals.pending | result.hint) & set;
    spin_unlock(&group->lock);
    return pending;
}

uint64_t signal_watch(struct thread *thread, uint64_t set)
{
    uint64_t pending;

    thread->awaited = set;
    thread_clear_due(thread, THREAD_DUE_SIGNAL);
    pending = pending_of(thread, set);
    signal_mask_changed(thread); /* others that are not awaited, and those that have come since */
    return pending;
}

uint64_t signal_watch_end(struct thread *thread)
{
    uint64_t set = thread->awaited;
    uint64_t pending = pending_of(thread, set);

    thread->awaited = 0;
    thread_clear_due(thread, THREAD_DUE_SIGNAL);
    signal_mask_changed(thread);
    if (pending != 0)
        signal_retarget(thread->group, pending & thread->context.signal_mask); /* we may have been chosen for one */
    return pending;
}
