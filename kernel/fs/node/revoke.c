/* Handles FILE_REVOKE at a home of spaces: a file has lost pages, and they are unmapped from every space at home here,
 * on every kernel. See revocation.h. */
#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/fs/node/revocation.h"
#include "kernel/instance/instance.h"
#include "mm/change/revoke.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"

#define TRIES 100 /* of a revocation in one space when some kernel lacks memory */

struct revoking {
    const struct msg_file_revoke *message;
    int error;
};

static bool revoke_in(struct group *group, void *context)
{
    struct revoking *revoking = context;
    const struct msg_file_revoke *message = revoking->message;
    struct group *host;
    int error = -ENOMEM;

    slice_check();
    if (group->process == NULL || group->home != instance.kernel || group_pin_ending(group, &host) != 0)
        return true; /* the group has another home, or nobody uses its memory any more */
    for (int i = 0; i < TRIES && error != 0; i++)
        error = space_revoke(host->space, message->first, message->pages, message->copies != 0);
    group_unpin(host);
    if (error != 0)
        revoking->error = error;
    return true;
}

int revoke_here(const struct msg_file_revoke *message)
{
    struct revoking revoking = {.message = message};

    group_each(revoke_in, &revoking);
    return revoking.error;
}

/* A worker does the work. The handler counts the revocation first, so that a fork under way applies it to its child
 * (space_catch_up). */
static int run(const struct remote_request *request, void *result)
{
    (void)result;
    if (request->task)
        return revoke_here(request->data);
    space_revoke_begins();
    return REMOTE_TASK;
}

void revoke_init(void)
{
    REMOTE_SERVE_TASK(FILE_REVOKE, WORK_LOCKS, run, NULL, struct msg_file_revoke, struct msg_none);
}
