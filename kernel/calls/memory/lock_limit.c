/* RLIMIT_MEMLOCK. See the header. The home of the space enforces it (mm/space/limit.h). */
#include "kernel/calls/memory/lock_limit.h"

#include "kernel/abi/errno.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

int64_t lock_limit(uint64_t *bytes)
{
    const struct thread *self = thread_current();
    struct msg_process_call call = {.id = self->group->id, .type = MSG_PROCESS_LIMIT, .limit.which = LIMIT_MEMLOCK};
    struct msg_process_result result;
    int64_t error;

    *bytes = LIMIT_NONE;
    if (credentials_root(&self->context.credentials))
        return 0;
    error = process_call(&call, &result);
    if (error == 0)
        *bytes = result.limit.soft;
    return error;
}

int64_t lock_limit_any(void)
{
    uint64_t bytes;
    int64_t error = lock_limit(&bytes);

    return error != 0 ? error : bytes == 0 ? -EPERM : 0;
}

int64_t lock_limit_said(int64_t error)
{
    int64_t none = lock_limit_any();

    return none != 0 ? none : error;
}
