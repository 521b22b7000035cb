/* Process groups: one thing done to every process of one, wherever it is at home. See the header. */
#include "tasks/family/set.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "msg/channel.h"
#include "tasks/family/session.h"
#include "tasks/freeze/freeze.h"
#include "tasks/process/call.h"
#include "tasks/process/permission.h"
#include "tasks/process/process.h"
#include "tasks/remote/post.h"
#include "tasks/signal/signal.h"

#define HELD_MAX 64u

struct set_walk {
    const struct msg_process_group *asked;
    struct msg_process_group_found found;
    bool refused;
};

static bool visit(struct group *group, void *context)
{
    struct set_walk *walk = context;
    const struct msg_process_group *asked = walk->asked;
    bool fits;

    if (group->process == NULL || group->id == asked->except)
        return true;
    if (asked->operation == PROCESS_GROUP_LOOK) {
        session_look(group, asked, &walk->found);
        return true;
    }
    spin_lock(&group->lock);
    fits = asked->group == 0 || group->process->process_group == asked->group;
    if (fits && asked->operation == PROCESS_GROUP_SIGNAL_AS &&
        !process_may_signal_locked(group->process, (uint32_t)asked->info.extra, asked->info.uid, asked->info.signal,
                                   asked->session)) {
        walk->refused = true;
        fits = false;
    }
    if (fits) {
        walk->found.count++;
        walk->found.session = group->process->session;
    }
    spin_unlock(&group->lock);
    if (fits && asked->operation != PROCESS_GROUP_FIND && asked->info.signal != 0) {
        struct signal_info info = asked->info;

        if (asked->operation == PROCESS_GROUP_SIGNAL_AS)
            info.extra = 0;
        signal_send_group(group, &info);
    }
    return true;
}

static void operate(const struct msg_process_group *asked, struct msg_process_group_found *found)
{
    struct set_walk walk = {.asked = asked};

    group_each(visit, &walk);
    *found = walk.found;
    if (asked->operation == PROCESS_GROUP_SIGNAL_AS)
        found->session = walk.refused ? 1 : 0;
}

static void handle_set(const struct msg *m)
{
    struct msg_process_group_found found;
    const struct msg_process_group *asked = m->data;

    if (asked->info.signal > SIGNALS) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    operate(asked, &found);
    msg_reply(&m->ticket, &found, sizeof(found));
}

static void add_found(void *context, uint32_t kernel, const void *reply, int length)
{
    struct msg_process_group_found *sum = context;
    struct msg_process_group_found part;

    (void)kernel;
    if (length != (int)sizeof(part))
        return; /* a kernel that does not run has no processes */
    memcpy(&part, reply, sizeof(part));
    sum->count += part.count;
    sum->stopped += part.stopped;
    sum->parents += part.parents;
    if (part.count > 0 || part.session != 0)
        sum->session = part.session;
}

static void ask_all(const struct msg_process_group *asked, struct msg_process_group_found *found)
{
    struct msg_process_group_found here;

    *found = (struct msg_process_group_found){0};
    msg_multicast(msg_peers_reachable(), MSG_PROCESS_GROUP, asked, sizeof(*asked), add_found, found,
                  "processes of a group", asked->group);
    operate(asked, &here);
    add_found(found, instance.kernel, &here, (int)sizeof(here));
}

void process_group_call(enum process_group_operation operation, uint32_t group, uint32_t except,
                        const struct signal_info *info, struct msg_process_group_found *found)
{
    struct msg_process_group asked = {.operation = operation, .group = group, .except = except};

    if (info != NULL)
        asked.info = *info;
    if (operation == PROCESS_GROUP_SIGNAL_AS) {
        const struct thread *self = thread_current();
        struct msg_process_call ask = {.id = self->group->id, .operation = PROCESS_GET_SESSION};
        struct msg_process_result result;
        int64_t session = process_call(&ask, &result);

        asked.info.extra = self->context.credentials.euid;
        asked.session = session < 0 ? 0 : (uint32_t)session;
    }
    ask_all(&asked, found);
}

void process_group_look(uint32_t group, uint32_t session, uint32_t except, struct msg_process_group_found *found)
{
    struct msg_process_group asked = {
        .operation = PROCESS_GROUP_LOOK, .group = group, .except = except, .session = session};

    ask_all(&asked, found);
}

/* Signals of the terminal that come while programs stand still are sent afterwards. The foreground group does not
 * change meanwhile, and a signal that is pending is not sent twice: a few places are enough. */
static struct spinlock held_lock;
static struct {
    uint32_t group, signal;
} held[HELD_MAX];           /* [k] held_lock */
static uint32_t held_count; /* [k] held_lock */

static bool hold(uint32_t group, uint32_t signal)
{
    bool holds, known = false;

    spin_lock(&held_lock);
    holds = freeze_active();
    for (uint32_t i = 0; i < held_count; i++)
        known |= held[i].group == group && held[i].signal == signal;
    if (holds && !known && held_count < HELD_MAX) {
        held[held_count].group = group;
        held[held_count++].signal = signal;
    }
    spin_unlock(&held_lock);
    return holds;
}

/* A freeze is over. */
static void send_held(void)
{
    for (;;) {
        uint32_t group, signal;

        spin_lock(&held_lock);
        if (held_count == 0) {
            spin_unlock(&held_lock);
            return;
        }
        group = held[--held_count].group;
        signal = held[held_count].signal;
        spin_unlock(&held_lock);
        process_group_signal(group, signal);
    }
}

void process_group_signal(uint32_t group, uint32_t signal)
{
    struct msg_process_group asked = {
        .operation = PROCESS_GROUP_SIGNAL, .group = group, .info = {.signal = signal, .code = SI_KERNEL}};
    struct msg_process_group_found found;

    if (hold(group, signal))
        return;
    for (kernel_set rest = msg_peers_reachable(); rest != 0; rest &= rest - 1)
        post((uint32_t)__builtin_ctzll(rest), MSG_PROCESS_GROUP, &asked, sizeof(asked));
    operate(&asked, &found);
}

void process_set_init(void)
{
    freeze_over = send_held;
    msg_register(MSG_PROCESS_GROUP, handle_set, sizeof(struct msg_process_group),
                 sizeof(struct msg_process_group_found));
}
