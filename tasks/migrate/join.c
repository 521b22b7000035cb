/* Becoming a member of a group. See the header. The joining kernel sends GROUP_JOIN in a handler and gets the reply in
 * a callback; the home orders joins against the group's end and exec by group->lock. */
#include "tasks/migrate/join.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/life/life.h"
#include "msg/channel.h"
#include "tasks/migrate/arrive.h"
#include "tasks/migrate/wire.h"
#include "tasks/process/process.h"
#include "tasks/remote/post.h"

void join_undo(struct group *group)
{
    struct space *space = group->space;

    spin_lock(&group->lock);
    group->exiting = true;
    group->space = NULL;
    spin_unlock(&group->lock);
    space_destroy(space); /* no thread has run in it, so it is empty */
    group_forget(group);
}

static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct group *group = context; /* owns the reference taken in join_ask */
    struct msg_group_joined joined = {.members = 0};
    int error = length < 0 ? length : length == (int)sizeof(joined) ? 0 : -EPROTO;

    (void)kernel;
    if (error == 0)
        memcpy(&joined, reply, sizeof(joined));
    migrate_joined(group, &joined, error);
    if (error != 0)
        join_undo(group);
    group_put(group);
}

void join_ask(struct group *group)
{
    struct msg_group_join message = {.group = group->id};

    group_get(group);
    post_answered(group->home, MSG_GROUP_JOIN, &message, sizeof(message), take_answer, group);
}

/* At the home: makes KERNEL a member. -ESRCH: the group is ending, is being pruned by exec, or uses its parent's
 * memory; -EPROTO: this is not its home. */
static int join(struct group *group, uint32_t kernel, struct msg_group_joined *joined)
{
    struct process *process = group->process;
    int error = 0;

    if (process == NULL)
        return -EPROTO;
    spin_lock(&group->lock);
    if (group->exiting || process->pruning || group->pinned != NULL) {
        error = -ESRCH;
    } else {
        uint64_t mode = space_join(group->space, kernel);

        *joined = (struct msg_group_joined){.mode = mode,
                                            .members = group->space->members,
                                            .signal_hint = process->signals.pending,
                                            .stop_round = group->stop_round,
                                            .stopped = group->stopped};
    }
    spin_unlock(&group->lock);
    return error;
}

static void handle_join(const struct msg *m)
{
    const struct msg_group_join *message = m->data;
    struct group *group = group_find(message->group);
    struct msg_group_joined joined;
    int error = -ESRCH;

    if (group != NULL) {
        error = join(group, m->ticket.kernel, &joined);
        group_put(group);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, &joined, sizeof(joined));
}

void join_init(void)
{
    msg_register(MSG_GROUP_JOIN, handle_join, sizeof(struct msg_group_join), sizeof(struct msg_group_joined));
}
