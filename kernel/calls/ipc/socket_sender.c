/* The credentials that a process may send: SCM_CREDENTIALS of sendmsg(2), unix(7). The order of the checks is
 * Linux's. */
#include "kernel/abi/errno.h"
#include "kernel/calls/ipc/socket.h"
#include "kernel/instance/instance.h"
#include "tasks/locate/locate.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/thread/credentials.h"
#include "tasks/thread/thread.h"

/* Returns whether ID is a process, or a thread of one. A process that its parent has not waited for yet counts. Waits
 * for its home. */
static bool exists(uint32_t id)
{
    struct msg_process_call process = {.id = id, .type = MSG_PROCESS_GET_GROUP};
    struct msg_thread_call thread = {.thread = id, .type = MSG_THREAD_GROUP};
    struct msg_process_result process_result;
    struct msg_thread_result thread_result;

    if (id == thread_current()->group->id || id == PROCESS_INIT)
        return true;
    if ((int32_t)id <= 0)
        return false;
    return process_call(&process, &process_result) >= 0 || thread_call(&thread, &thread_result, NULL) >= 0;
}

static bool is_one_of(uint32_t id, uint32_t real, uint32_t effective, uint32_t saved)
{
    return id == real || id == effective || id == saved;
}

int64_t socket_sender(const struct socket_user *said)
{
    const struct credentials *own = &thread_current()->context.credentials;
    bool root = credentials_root(own);

    if (said->uid == UINT32_MAX || said->gid == UINT32_MAX)
        return -EINVAL;
    if (!root && (said->pid != thread_current()->group->id || !is_one_of(said->uid, own->uid, own->euid, own->suid) ||
                  !is_one_of(said->gid, own->gid, own->egid, own->sgid)))
        return -EPERM;
    return exists(said->pid) ? 0 : -ESRCH;
}
