/* Waiting for signals without taking them: poll(2) and epoll_wait(2) on descriptors of signalfd(2). See signal.h. */
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/signal/signal.h"

/* The signals of SET that are pending. As in signal_take, SET leaves the hint before the home is asked and the reply is
 * added to the hint afterwards, so that a signal sent meanwhile is in the hint in any order of messages. */
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
    signal_mask_changed(thread); /* other signals may be due, and awaited ones that have come since */
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
        signal_retarget(thread->group, pending & thread->context.signal_mask); /* perhaps chosen for one of them */
    return pending;
}
