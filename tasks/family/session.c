/* Sessions and orphaned process groups. See the header. Each process's part is read under its group's lock; a result
 * over several kernels is not a snapshot of one moment. */
#include "tasks/family/session.h"

#include "kernel/abi/errno.h"
#include "msg/slice.h"
#include "tasks/family/set.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"

/* Looks at some children of PROCESS, from *PLACE on. True: there are more. */
static bool look_at_some_locked(const struct process *process, uint32_t *place, uint32_t group,
                                struct msg_process_group_found *found)
{
    const struct child *child = process_child_from_locked(process, *place);

    for (uint32_t left = CHILDREN_AT_ONCE; child != NULL && left > 0; left--) {
        bool ended = child->code == CLD_EXITED || child->code == CLD_KILLED || child->code == CLD_DUMPED;

        if (child->group == group && !ended)
            found->parents++;
        *place = child->id;
        child = process_child_after_locked(process, child);
    }
    return child != NULL;
}

/* Where a child is met twice, because others have gone meanwhile, it counts twice. */
void session_look(struct group *group, const struct msg_process_group *asked, struct msg_process_group_found *found)
{
    const struct process *process = group->process;
    uint32_t place = 0;
    bool more = false;

    spin_lock(&group->lock);
    if (process->process_group == asked->group && !process->zombie) {
        found->count++;
        found->session = process->session;
        found->stopped += group->stopped ? 1 : 0;
    }
    do {
        if (more) {
            spin_unlock(&group->lock);
            slice_check();
            spin_lock(&group->lock);
        }
        more = process->process_group != asked->group && process->session == asked->session &&
               look_at_some_locked(process, &place, asked->group, found);
    } while (more);
    spin_unlock(&group->lock);
}

bool session_is_orphaned(uint32_t group, uint32_t session)
{
    struct msg_process_group_found found;

    process_group_look(group, session, 0, &found);
    return found.parents == 0;
}

void session_look_after(uint32_t group, uint32_t session, uint32_t except)
{
    static const uint32_t signals[] = {SIGHUP, SIGCONT};
    struct msg_process_group_found found;

    process_group_look(group, session, except, &found);
    if (found.parents != 0 || found.stopped == 0 || found.session != session)
        return; /* a group of another session cannot have become orphaned by this end */
    for (uint32_t i = 0; i < 2; i++) {
        struct signal_info info = {.signal = signals[i], .code = SI_KERNEL};

        process_group_call(MSG_PROCESS_GROUP_SIGNAL, group, except, &info, &found);
    }
}

void session_signal_process(uint32_t id, uint32_t signal)
{
    struct msg_process_call call = {
        .id = id, .type = MSG_PROCESS_SIGNAL, .info = {.signal = signal, .code = SI_KERNEL}};

    if (process_notify(&call) != 0)
        process_signal_later(id, signal);
}

int64_t session_set_group(struct group *group, const struct msg_process_call *call, struct msg_process_result *answer)
{
    struct process *process = group->process;
    uint32_t wanted = call->set_group.group, caller = call->set_group.caller;
    int64_t result = 0;

    spin_lock(&group->lock);
    answer->parent = process->parent;
    if (caller != group->id && caller != process->parent)
        result = -ESRCH;
    else if (caller != group->id && process->executed)
        result = -EACCES;
    else if (process->session == group->id)
        result = -EPERM; /* a session leader */
    else if (wanted != group->id && call->set_group.group_session != process->session)
        result = -EPERM;
    else if (caller != group->id && call->set_group.caller_session != process->session)
        result = -EPERM; /* a child in another session than the caller's */
    else
        process->process_group = wanted;
    spin_unlock(&group->lock);
    return result;
}

int64_t session_set_leader(struct group *group, const struct msg_process_call *call, struct msg_process_result *answer)
{
    struct process *process = group->process;
    int64_t result = group->id;

    (void)call;
    spin_lock(&group->lock);
    if (process->process_group == group->id) {
        result = -EPERM;
    } else {
        process->process_group = group->id;
        process->session = group->id;
    }
    answer->parent = process->parent;
    spin_unlock(&group->lock);
    return result;
}
