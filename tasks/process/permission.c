/* Permission of a thread to act on a process. See the header. */
#include "tasks/process/permission.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"

void credentials_changed(const struct credentials *old)
{
    const struct thread *self = thread_current();
    const struct credentials *own = &self->context.credentials;
    struct msg_process_call call = {.id = self->group->id, .type = MSG_PROCESS_SET_IDS};
    struct msg_process_result result;

    if (self->tid != self->group->id || memcmp(old, own, sizeof(call.ids)) == 0)
        return;
    memcpy(call.ids, own, sizeof(call.ids));
    process_call_surely(&call, &result);
}

int64_t credentials_may_signal(uint32_t id, uint32_t signal)
{
    const struct thread *self = thread_current();
    const struct credentials *own = &self->context.credentials;
    struct msg_process_call call = {.id = self->group->id, .type = MSG_PROCESS_GET_SESSION};
    struct msg_process_result result;
    int64_t session;

    if (credentials_root(own) || id == self->group->id)
        return 0;
    session = process_call(&call, &result);
    call = (struct msg_process_call){.id = id, .type = MSG_PROCESS_MAY_SIGNAL};
    call.sender.euid = own->euid;
    call.sender.uid = own->uid;
    call.sender.session = session < 0 ? 0 : (uint32_t)session;
    call.sender.signal = signal;
    return process_call(&call, &result);
}

bool process_may_signal_locked(const struct process *process, uint32_t euid, uint32_t uid, uint32_t signal,
                               uint32_t session)
{
    const struct credentials *to = &process->credentials;

    return euid == 0 || euid == to->suid || euid == to->uid || uid == to->suid || uid == to->uid ||
           (signal == SIGCONT && session == process->session);
}

int64_t process_may_signal(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    bool may;

    (void)result;
    spin_lock(&group->lock);
    may = process_may_signal_locked(group->process, call->sender.euid, call->sender.uid, call->sender.signal,
                                    call->sender.session);
    spin_unlock(&group->lock);
    return may ? 0 : -EPERM;
}

int64_t credentials_may_reach(uint32_t id, bool inside)
{
    const struct thread *self = thread_current();
    const struct credentials *own = &self->context.credentials;
    struct msg_process_call call = {.id = id, .type = MSG_PROCESS_MAY_REACH};
    struct msg_process_result result;

    if (credentials_root(own) || (self->group != NULL && id == self->group->id))
        return 0;
    call.reach.uid = own->uid;
    call.reach.gid = own->gid;
    call.reach.inside = inside ? 1 : 0;
    return process_call(&call, &result);
}

bool process_may_reach_locked(const struct process *process, uint32_t uid, uint32_t gid, bool inside)
{
    const struct credentials *to = &process->credentials;

    return uid == to->uid && uid == to->euid && uid == to->suid && gid == to->gid && gid == to->egid &&
           gid == to->sgid && (!inside || process->attributes[ATTRIBUTE_DUMPABLE] == 1);
}

int64_t process_may_reach(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    bool may;

    (void)result;
    spin_lock(&group->lock);
    may = process_may_reach_locked(group->process, call->reach.uid, call->reach.gid, call->reach.inside != 0);
    spin_unlock(&group->lock);
    return may ? 0 : -EPERM;
}

int64_t process_set_ids(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct credentials *own = &group->process->credentials, old;

    (void)result;
    spin_lock(&group->lock);
    old = *own;
    memcpy(own, call->ids, sizeof(call->ids));
    if (own->euid != old.euid || own->fsuid != old.fsuid || own->egid != old.egid || own->fsgid != old.fsgid)
        process_attributes_drop(group->process->attributes);
    spin_unlock(&group->lock);
    return 0;
}
