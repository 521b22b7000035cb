/* A home of spaces is told that a file has lost pages: a worker takes them out of all of its spaces that map them, on
 * every kernel, and answers. See revocation.h. */
#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/fs/node/revocation.h"
#include "kernel/instance/instance.h"
#include "mm/change/revoke.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "msg/message.h"
#include "tasks/process/group.h"
#include "tasks/remote/work.h"

#define TRIES 100 /* of a change for which some kernel had no memory */

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

    if (group->process == NULL || group->home != instance.kernel || group_lodge(group, &host) != 0)
        return true; /* it is not at home here, or ends */
    for (int i = 0; i < TRIES && error != 0; i++)
        error = space_revoke(host->space, message->first, message->pages, message->copies != 0);
    group_leave(host);
    if (error != 0)
        revoking->error = error;
    return true;
}

int revoke_here(const struct msg_file_revoke *message)
{
    struct revoking revoking = {.message = message};

    return group_each(revoke_in, &revoking) ? revoking.error : -ENOMEM;
}

struct revoke_work {
    struct work work;
    struct msg_kept kept;
    struct msg_file_revoke message;
};

static void answered(struct msg_kept *kept)
{
    struct revoke_work *w = container_of(kept, struct revoke_work, kept);

    heap_free(w, sizeof(*w));
}

static void run(struct work *work)
{
    struct revoke_work *w = container_of(work, struct revoke_work, work);
    int error = revoke_here(&w->message);

    if (error != 0)
        msg_kept_reply_error(&w->kept, error, answered);
    else
        msg_kept_reply(&w->kept, NULL, 0, answered);
}

static void handle_revoke(const struct msg *m)
{
    struct revoke_work *w = heap_alloc(sizeof(*w));

    space_revoke_begins();
    if (w == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    w->message = *(const struct msg_file_revoke *)m->data;
    w->work.run = run;
    msg_keep(m, &w->kept, NULL);
    work_submit(&w->work);
}

void revoke_init(void)
{
    msg_register(MSG_FILE_REVOKE, handle_revoke, sizeof(struct msg_file_revoke), 0);
}
