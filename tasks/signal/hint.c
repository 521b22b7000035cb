/* Telling members of signals. See the header and tasks/signal/signal.md.
 *
 * A member is in HINT_DUE or FORGET_DUE of the process from the moment when it has to be told until its message is
 * composed, and in UNANSWERED from then until the answer. The message is sent by whoever finds a member due and not
 * unanswered: the sender of the signal, the answer to the message before, or without memory a task. */
#include "tasks/signal/hint.h"

#include "kernel/instance/instance.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/signal/signal.h"
#include "tasks/signal/wire.h"

/* A GROUP_HINT under way. */
struct hint {
    struct msg_asking asking;
    struct msg_group_hint message;
    struct group *group; /* a reference */
};

/* The members that can be sent what they are due. */
static kernel_set ready_locked(const struct process_hints *hints)
{
    return (hints->hint_due | hints->forget_due) & ~hints->unanswered;
}

/* Composes what the members TO, which are ready, are due, as a superset. False: all those signals have been taken. */
static bool compose_locked(struct process *process, kernel_set to, struct msg_group_hint *out)
{
    struct process_hints *hints = &process->hints;

    *out = (struct msg_group_hint){.group = process->group->id, .busy = hints->busy};
    if ((hints->hint_due & to) != 0)
        out->signals = hints->signals & process->signals.pending;
    if ((hints->forget_due & to) != 0)
        out->forgets = hints->forgets;
    hints->hint_due &= ~to;
    hints->forget_due &= ~to;
    if (hints->hint_due == 0) {
        hints->signals = 0;
        hints->busy = false;
    }
    if (hints->forget_due == 0)
        hints->forgets = 0;
    if ((out->signals | out->forgets) == 0)
        return false;
    hints->unanswered |= to;
    return true;
}

static void send(struct hint *hint, uint32_t kernel);

/* KERNEL has answered, or has died: it gets what it is due by now. */
static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct hint *hint = context;
    struct group *group = hint->group;
    struct process_hints *hints = &group->process->hints;
    bool again;

    (void)reply;
    (void)length;
    spin_lock(&group->lock);
    hints->unanswered &= ~(1ull << kernel);
    again = (ready_locked(hints) >> kernel & 1) != 0 && compose_locked(group->process, 1ull << kernel, &hint->message);
    spin_unlock(&group->lock);
    if (again) {
        send(hint, kernel);
        return;
    }
    heap_free(hint, sizeof(*hint));
    group_put(group);
}

static void send(struct hint *hint, uint32_t kernel)
{
    msg_ask(&hint->asking, kernel, MSG_GROUP_HINT, &hint->message, sizeof(hint->message), take_answer, hint);
}

/* Sends what is due where there was no memory. Runs in a task, which owns a reference to the group. */
static void send_by_task(struct work *work)
{
    struct process *process = container_of(work, struct process, hints.work);
    struct group *group = process->group;
    struct msg_group_hint message;
    kernel_set to;

    spin_lock(&group->lock);
    while ((to = ready_locked(&process->hints)) != 0) {
        if (!compose_locked(process, to, &message))
            continue;
        spin_unlock(&group->lock);
        msg_gather(to, MSG_GROUP_HINT, &message, sizeof(message), NULL, NULL, "signals to be known", group->id);
        spin_lock(&group->lock);
        process->hints.unanswered &= ~to;
    }
    process->hints.submitted = false;
    spin_unlock(&group->lock);
    group_put(group);
}

/* Sends what is due to the members that have answered. */
static void send_due(struct group *group)
{
    struct process_hints *hints = &group->process->hints;
    bool submit = false;
    kernel_set ready;

    spin_lock(&group->lock);
    while (!hints->submitted && (ready = ready_locked(hints)) != 0) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(ready);
        struct hint *hint = heap_alloc_sure(sizeof(*hint));

        submit = hint == NULL;
        if (submit) {
            hints->submitted = true;
            group_get(group);
        } else if (compose_locked(group->process, 1ull << kernel, &hint->message)) {
            hint->group = group;
            group_get(group);
            spin_unlock(&group->lock);
            send(hint, kernel);
            spin_lock(&group->lock);
        } else {
            heap_free(hint, sizeof(*hint));
        }
    }
    spin_unlock(&group->lock);
    if (submit) {
        hints->work.run = send_by_task;
        work_submit(&hints->work);
    }
}

void hint_members(struct group *group, kernel_set members, uint64_t signals, bool busy)
{
    struct process_hints *hints = &group->process->hints;

    members &= ~(1ull << instance.kernel);
    if (members == 0)
        return;
    spin_lock(&group->lock);
    hints->hint_due |= members;
    hints->signals |= signals;
    hints->busy |= busy;
    spin_unlock(&group->lock);
    send_due(group);
}

void hint_forget(struct group *group, uint64_t signals)
{
    struct process_hints *hints = &group->process->hints;
    kernel_set members;

    spin_lock(&group->lock);
    members = group_members_locked(group) & ~(1ull << instance.kernel);
    hints->forget_due |= members;
    hints->forgets |= members != 0 ? signals : 0;
    spin_unlock(&group->lock);
    if (members != 0)
        send_due(group);
}

static void handle_hint(const struct msg *m)
{
    const struct msg_group_hint *hint = m->data;
    struct group *group = group_find(hint->group);

    if (group != NULL) {
        if (hint->forgets != 0)
            signal_forget(group, hint->forgets);
        if (hint->signals != 0)
            signal_hint(group, hint->signals, hint->busy != 0);
        group_put(group);
    }
    msg_reply(&m->ticket, NULL, 0);
}

void hint_init(void)
{
    msg_register(MSG_GROUP_HINT, handle_hint, sizeof(struct msg_group_hint), 0);
}
