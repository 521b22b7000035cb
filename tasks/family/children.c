/* The children of a process: making them, their events, waiting for them. See the header.
 *
 * The parent's home has a struct child for each child that has not been waited for, under the lock of the parent's
 * group. Operations take one step under this lock and do not wait; the functions that use process_call_surely are for
 * tasks. No two groups' locks are held together. */
#include "tasks/family/children.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "msg/slice.h"
#include "tasks/family/end.h"
#include "tasks/family/session.h"
#include "tasks/family/set.h"
#include "tasks/family/wire.h"
#include "tasks/process/call.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/watch.h"
#include "tasks/signal/signal.h"

#define CLOCK_TICK_NS 10000000u

/* At the parent's home: adds an entry for the child, unless BEGIN->child is 0, and returns the state to inherit. */
static int begin_child(struct group *group, const struct msg_process_begin *begin, struct msg_process_state *state)
{
    struct child *child = begin->child != 0 ? heap_alloc(sizeof(*child)) : NULL;
    struct process *process = group->process;
    int error = 0;

    if (child == NULL && begin->child != 0)
        return -ENOMEM;
    spin_lock(&group->lock);
    if (group->exiting) {
        error = -EAGAIN;
    } else {
        if (child != NULL) {
            child->id = begin->child;
            child->group = begin->group != 0 ? begin->group : process->process_group;
            child->exit_signal = begin->exit_signal;
            child->uid = process->credentials.uid;
            process_add_child_locked(process, child);
        }
        *state = (struct msg_process_state){.parent = group->id,
                                            .process_group = process->process_group,
                                            .session = process->session,
                                            .umask = process_umask_of(process),
                                            .grandparent = process->parent,
                                            .exit_signal = process->exit_signal,
                                            .environment = process->environment,
                                            .environment_size = process->environment_size,
                                            .arguments_size = process->arguments_size};
        memcpy(state->attributes, process->attributes, sizeof(state->attributes));
        memcpy(state->name, process->name, sizeof(state->name));
        memcpy(state->actions, process->actions, sizeof(state->actions));
        memcpy(state->limits, process->limits, sizeof(state->limits));
    }
    spin_unlock(&group->lock);
    if (error != 0)
        heap_free(child, sizeof(*child));
    return error;
}

static int begin(const struct remote_request *request, void *result)
{
    const struct msg_process_begin *begin = request->data;
    struct group *group = group_find(begin->parent);
    int error = -EAGAIN;

    if (group == NULL)
        return error;
    if (group->process != NULL)
        error = begin_child(group, begin, result);
    group_put(group);
    return error != 0 ? error : (int)sizeof(struct msg_process_state);
}

static int ask_to_begin(const struct msg_process_begin *begin, struct msg_process_state *state)
{
    const struct remote_how how = {.why = "leave to have a child", .key = begin->parent, .end = WAIT_FIRM};
    int result = remote_call(process_home(begin->parent), MSG_PROCESS_BEGIN, begin, sizeof(*begin), state,
                             sizeof(*state), &how);

    return result < 0 ? result : 0;
}

int process_begin_child(uint32_t parent, uint32_t child, uint32_t exit_signal, struct msg_process_state *state)
{
    struct msg_process_begin begin = {.parent = parent, .child = child, .exit_signal = exit_signal};

    return ask_to_begin(&begin, state);
}

int process_begin_sibling(uint32_t sibling, uint32_t child, struct msg_process_state *state)
{
    struct msg_process_begin begin = {.parent = sibling};
    struct msg_process_state *unused = heap_alloc(sizeof(*unused));
    int error = unused == NULL ? -ENOMEM : ask_to_begin(&begin, state);

    if (error == 0) {
        begin = (struct msg_process_begin){.parent = state->grandparent,
                                           .child = child,
                                           .exit_signal = state->exit_signal,
                                           .group = state->process_group};
        error = begin.parent == PROCESS_INIT ? -EAGAIN : ask_to_begin(&begin, unused);
        state->parent = error == 0 ? begin.parent : PROCESS_INIT;
        if (error == -EAGAIN) /* the parent is init, has ended, or is ending and gives away its children */
            error = 0;
    }
    heap_free(unused, sizeof(*unused));
    return error;
}

void process_cancel_child(uint32_t parent, uint32_t child)
{
    struct msg_process_call call = {
        .id = parent, .type = MSG_PROCESS_CHILD_EVENT, .event = {.child = child, .code = CHILD_CANCELLED}};
    struct msg_process_result result;

    process_call_surely(&call, &result);
}

static bool selected(const struct child *child, uint64_t selector)
{
    switch (selector >> 32) {
    case SELECT_PROCESS:
        return child->id == (uint32_t)selector;
    case SELECT_GROUP:
        return child->group == (uint32_t)selector;
    default:
        return true;
    }
}

static bool has_ended(const struct child *child)
{
    return child->code == CLD_EXITED || child->code == CLD_KILLED || child->code == CLD_DUMPED;
}

/* Whether CHILD is one that a wait with SELECTOR and OPTIONS is for. */
static bool may_report(const struct child *child, uint64_t selector, uint64_t options)
{
    /* __WCLONE: only children whose exit signal is not SIGCHLD; __WALL: all children */
    return selected(child, selector) &&
           ((options & WAIT_ALL) != 0 || (child->exit_signal != SIGCHLD) == ((options & WAIT_CLONE) != 0));
}

static bool has_event(const struct child *child, uint64_t options)
{
    return (has_ended(child) && (options & WAIT_EXITED) != 0) ||
           (child->code == CLD_STOPPED && (options & WAIT_STOPPED) != 0) ||
           (child->code == CLD_CONTINUED && (options & WAIT_CONTINUED) != 0);
}

/* Reports CHILD's event, and forgets a child that has ended, unless WAIT_NO_REAP. */
static void report_locked(struct process *process, struct child *child, uint64_t options,
                          struct msg_process_result *result)
{
    bool ended = has_ended(child);

    result->child = child->id;
    result->status = child->status;
    result->code = (uint16_t)child->code;
    result->uid = child->uid;
    result->user_ns = child->user_ns;
    result->system_ns = child->system_ns;
    if ((options & WAIT_NO_REAP) != 0)
        return;
    child->code = 0;
    if (!ended)
        return;
    result->reaped = 1;
    process->children_user_ns += child->user_ns;
    process->children_system_ns += child->system_ns;
    process_forget_child_locked(process, child);
}

/* One step of wait4(2): takes the first selected child that has an event to report, of CHILDREN_AT_ONCE from PLACE on.
 */
static int64_t wait_locked(struct process *process, uint64_t selector, uint64_t options, uint32_t place,
                           struct msg_process_result *result)
{
    struct child *found = NULL;
    bool exists = false;

    if (selector >> 32 == SELECT_GROUP && (uint32_t)selector == 0)
        selector |= process->process_group;
    result->events = watch_events(&process->child_events);
    if (selector >> 32 == SELECT_PROCESS) {
        found = process_find_child_locked(process, (uint32_t)selector);
        exists = found != NULL && may_report(found, selector, options);
        if (!exists || !has_event(found, options))
            found = NULL;
    } else {
        struct child *child = process_child_from_locked(process, place);

        for (uint32_t left = CHILDREN_AT_ONCE; child != NULL && left > 0 && found == NULL; left--) {
            bool may = may_report(child, selector, options);

            exists |= may;
            if (may && has_event(child, options))
                found = child;
            place = child->id;
            child = process_child_after_locked(process, child);
        }
        result->place = found == NULL && child != NULL ? place : 0;
    }
    if (found != NULL)
        report_locked(process, found, options, result);
    return exists ? 0 : -ECHILD;
}

int64_t children_wait(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    int64_t value;

    spin_lock(&group->lock);
    value = wait_locked(group->process, call->wait.selector, call->wait.options, call->wait.place, result);
    spin_unlock(&group->lock);
    return value;
}

/* Whether EVENT, a stop or continue, has been overtaken by a later one or by the child's end. */
static bool is_late(const struct child *child, const struct child_event *event)
{
    return (event->code == CLD_STOPPED || event->code == CLD_CONTINUED) &&
           (has_ended(child) || (int32_t)(event->round - child->stop_round) < 0);
}

/* PROCESS_CHILD_EVENT: a child has changed. Returns 1 if it has ended and the entry is not kept for a wait. */
int64_t children_event(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process *process = group->process;
    const struct child_event *event = &call->event;
    uint32_t code = event->code, status = event->status;
    struct signal_info info = {.code = (int32_t)code, .pid = event->child, .uid = event->uid};
    const struct signal_action *action = &process->actions[SIGCHLD - 1];
    struct child *child;
    bool keep = true;

    spin_lock(&group->lock);
    result->parent_group = process->process_group;
    result->parent_session = process->session;
    child = process_find_child_locked(process, event->child);
    if (child == NULL || is_late(child, event)) {
        spin_unlock(&group->lock);
        return code != CLD_STOPPED && code != CLD_CONTINUED ? 1 : 0;
    }
    if (has_ended(child) && code != CHILD_CANCELLED) { /* after a death ends are reported again */
        spin_unlock(&group->lock);
        return 0;
    }
    if (group->exiting && code != CHILD_CANCELLED) { /* the child's next parent receives the end */
        spin_unlock(&group->lock);
        return 0;
    }
    info.signal = SIGCHLD;
    if (code == CHILD_CANCELLED) {
        process_forget_child_locked(process, child);
        info.signal = 0;
    } else {
        child->code = code;
        child->status = status;
        child->uid = event->uid;
        info.value = code == CLD_EXITED || code == CLD_STOPPED ? status >> 8 & 0xff : status & 0x7f;
        if (code == CLD_CONTINUED)
            info.value = SIGCONT;
        if (code == CLD_STOPPED || code == CLD_CONTINUED) {
            child->stop_round = event->round;
            if ((action->flags & SA_NOCLDSTOP) != 0)
                info.signal = 0;
        } else {
            child->user_ns = event->user_ns;
            child->system_ns = event->system_ns;
            info.extra = event->user_ns / CLOCK_TICK_NS | event->system_ns / CLOCK_TICK_NS << 32;
            info.signal = child->exit_signal;
            if (child->exit_signal == SIGCHLD && (action->handler == SIG_IGN || (action->flags & SA_NOCLDWAIT) != 0)) {
                keep = false;
                if (action->handler == SIG_IGN)
                    info.signal = 0;
                process_forget_child_locked(process, child);
            }
        }
    }
    spin_unlock(&group->lock);
    if (info.signal != 0)
        signal_send_group(group, &info);
    watch_event(&process->child_events);
    return keep ? 0 : 1;
}

int64_t children_set_group(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct child *child;

    (void)result;
    spin_lock(&group->lock);
    child = process_find_child_locked(group->process, call->child.id);
    if (child != NULL)
        child->group = call->child.group;
    spin_unlock(&group->lock);
    watch_event(&group->process->child_events);
    return 0;
}

/* PROCESS_ADOPT, at the home of a process that may be a reaper: adds an entry for the orphan. */
int64_t children_adopt(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct child *child = heap_alloc(sizeof(*child));
    struct process *process = group->process;
    int64_t error = 0;

    spin_lock(&group->lock);
    result->parent = process->parent;
    if (group->exiting || process->attributes[ATTRIBUTE_REAPER] == 0)
        error = -EAGAIN;
    if (error == 0 && child != NULL) {
        child->id = call->child.id;
        child->group = call->child.group;
        child->uid = call->child.uid;
        child->giver = call->child.giver;
        child->exit_signal = SIGCHLD;
        process_add_child_locked(process, child);
    }
    spin_unlock(&group->lock);
    if (error == 0)
        return child != NULL ? 0 : -ENOMEM;
    heap_free(child, sizeof(*child));
    return error;
}

/* Returns the first process, from ID upwards, that has accepted the child of GIVER; init if none has. */
static uint32_t find_reaper(uint32_t id, uint32_t giver, const struct child *child)
{
    while (id != PROCESS_INIT) {
        struct msg_process_call call = {
            .id = id,
            .type = MSG_PROCESS_ADOPT,
            .child = {.id = child->id, .group = child->group, .uid = child->uid, .giver = giver}};
        struct msg_process_result result;
        int64_t error = process_call_surely(&call, &result);

        if (error == 0)
            break;
        id = error == -EAGAIN ? result.parent : PROCESS_INIT;
    }
    return id;
}

/* Makes REAPER, which has an entry for CHILD, the parent of CHILD instead of FROM. If CHILD has ended meanwhile,
 * forwards its end. */
static void give_to(uint32_t reaper, uint32_t from, const struct child *child)
{
    struct msg_process_call call = {
        .id = child->id, .type = MSG_PROCESS_NEW_PARENT, .parent = {.is = reaper, .was = from}};
    struct msg_process_call news = {.id = reaper, .type = MSG_PROCESS_CHILD_EVENT};
    struct msg_process_call reaped = {.id = child->id, .type = MSG_PROCESS_REAPED};
    struct msg_process_result result;
    /* before the end of the current process is reported: by then its children have their new parent */
    int64_t ended = process_call_surely(&call, &result);

    if (reaper == PROCESS_INIT || ended == 0)
        return;
    news.event = (struct child_event){.child = child->id, .code = CHILD_CANCELLED}; /* if it does not exist any more */
    if (ended > 0)
        news.event = child_ended(child->id, &result);
    if (process_call_surely(&news, &result) != 0 && ended > 0)
        process_call_surely(&reaped, &result); /* no process is going to wait for it */
}

/* Copies the first child to *OUT. False: there is none. */
static bool first_child(struct group *group, struct child *out)
{
    bool found;

    spin_lock(&group->lock);
    found = !list_empty(&group->process->children);
    if (found)
        *out = *container_of(group->process->children.next, struct child, node);
    spin_unlock(&group->lock);
    return found;
}

/* The entry of a child stays until the child has its new parent: so the end of a child is reported to this entry, and
 * forwarded, or to the new parent. */
void children_give_away(struct group *group)
{
    uint32_t reaper = group->process->parent;
    const struct process *process = group->process;
    uint32_t looked = process->process_group; /* process_ended checks the process's own group */
    struct child child, *entry;

    while (first_child(group, &child)) {
        reaper = find_reaper(reaper, group->id, &child);
        give_to(reaper, group->id, &child);
        spin_lock(&group->lock);
        entry = process_find_child_locked(group->process, child.id);
        if (entry != NULL) /* otherwise it has been cancelled meanwhile */
            process_forget_child_locked(group->process, entry);
        spin_unlock(&group->lock);
        slice_check();
        if (child.group != looked)
            session_look_after(child.group, process->session, group->id);
        looked = child.group;
    }
}

/* --- a kernel has died --- */

/* A process group that a process there may have kept from being orphaned; its number is 0 if not. */
struct bereft {
    uint32_t group, session;
};

/* That of CHILD, whose parent is GROUP. */
static struct bereft kept_with(struct group *group, const struct child *child)
{
    const struct process *process = group->process;
    struct bereft bereft;

    spin_lock(&group->lock);
    bereft = (struct bereft){child->group != process->process_group ? child->group : 0, process->session};
    spin_unlock(&group->lock);
    return bereft;
}

/* Finds the first child of GROUP behind *PLACE of which IS is true, and copies it to *OUT; *PLACE becomes its place.
 * False: there is none. */
static bool find_child(struct group *group, uint32_t *place, bool (*is)(const struct child *child, kernel_set lost),
                       kernel_set lost, struct child *out)
{
    const struct child *child;
    bool found = false;

    do {
        slice_check();
        spin_lock(&group->lock);
        child = process_child_from_locked(group->process, *place);
        for (uint32_t left = CHILDREN_AT_ONCE; child != NULL && left > 0 && !found; left--) {
            found = is(child, lost);
            if (found)
                *out = *child;
            *place = child->id;
            child = process_child_after_locked(group->process, child);
        }
        spin_unlock(&group->lock);
    } while (!found && child != NULL);
    return found;
}

static bool was_at_home_on(uint32_t process, kernel_set lost)
{
    uint32_t home = process_home(process);

    return home < KERNELS_MAX && (lost >> home & 1) != 0;
}

/* Whether CHILD was at home there and has not ended. */
static bool is_lost(const struct child *child, kernel_set lost)
{
    return was_at_home_on(child->id, lost) && !has_ended(child);
}

/* Whether the parent of GROUP, *PARENT, was at home on KERNEL. Nobody can say any more in which process group and
 * session that was. It counts as having kept GROUP's process group from being orphaned, also if it has led that group:
 * its own parent, which may have been there, too, has kept it then. Not if GROUP leads its session. */
static bool lost_parent(struct group *group, uint32_t kernel, uint32_t *parent, struct bereft *bereft)
{
    const struct process *process = group->process;

    spin_lock(&group->lock);
    *parent = process->parent;
    *bereft = (struct bereft){process->session != group->id ? process->process_group : 0, process->session};
    spin_unlock(&group->lock);
    return *parent != PROCESS_INIT && process_home(*parent) == kernel;
}

static void look_later(const struct bereft *bereft)
{
    if (bereft->group != 0)
        process_look_later(bereft->group, bereft->session);
}

static bool lose(struct group *group, void *context)
{
    uint32_t kernel = *(const uint32_t *)context, parent, place = 0;
    struct msg_process_result result = {.value = 0};
    struct msg_process_call call = {.id = group->id, .type = MSG_PROCESS_CHILD_EVENT};
    struct bereft bereft;
    struct child child;

    slice_check();
    if (group->process == NULL)
        return true;
    while (find_child(group, &place, is_lost, 1ull << kernel, &child)) {
        call.event = (struct child_event){.child = child.id, .code = CLD_KILLED, .status = SIGKILL, .uid = child.uid};
        bereft = kept_with(group, &child);
        children_event(group, &call, &result);
        look_later(&bereft);
        slice_check();
        if (group_exiting(group)) /* it has stored nothing, and gives its children away itself */
            break;
    }
    if (!lost_parent(group, kernel, &parent, &bereft))
        return true;
    call = (struct msg_process_call){
        .id = group->id, .type = MSG_PROCESS_NEW_PARENT, .parent = {.is = PROCESS_INIT, .was = parent}};
    look_later(&bereft);
    process_new_parent(group, &call, &result);
    return true;
}

void children_lost(uint32_t kernel)
{
    group_each(lose, &kernel);
}

/* Whether a process of LOST, which have died, was giving CHILD to its parent here, and may not have told of it. One
 * that was at home there itself has ended, and nobody can be asked about it: its entry says so, but for that of a
 * process which ends and does not store it. */
static bool is_promised(const struct child *child, kernel_set lost)
{
    return child->giver != 0 && was_at_home_on(child->giver, lost) && !was_at_home_on(child->id, lost) &&
           process_home(child->id) < KERNELS_MAX && !has_ended(child);
}

static void keep_promised(struct group *group, uint32_t id)
{
    struct child *child;

    spin_lock(&group->lock);
    child = process_find_child_locked(group->process, id);
    if (child != NULL)
        child->giver = 0;
    spin_unlock(&group->lock);
}

/* Finds out which of those children were told that GROUP is their parent. The others have init as their parent by now,
 * or were released, and GROUP forgets them. */
static int settle_promised(struct group *group, kernel_set lost)
{
    struct msg_process_call cancel = {.id = group->id, .type = MSG_PROCESS_CHILD_EVENT};
    struct msg_process_result result;
    struct child child;
    uint32_t place = 0;

    while (find_child(group, &place, is_promised, lost, &child)) {
        struct msg_process_call call = {.id = child.id, .type = MSG_PROCESS_PARENT};
        int64_t parent = process_call_surely(&call, &result);

        if (parent == -ENOMEM)
            return -ENOMEM;
        if (parent < 0 && msg_peer_fenced(process_home(child.id)))
            return -EAGAIN; /* its home has died meanwhile: the next clean-up is that of both */
        cancel.event = (struct child_event){.child = child.id, .code = CHILD_CANCELLED};
        if (parent == group->id)
            keep_promised(group, child.id);
        else
            children_event(group, &cancel, &result);
    }
    return 0;
}

struct again {
    kernel_set lost;
    int error;
};

static bool report_again(struct group *group, void *context)
{
    struct again *again = context;
    int error = process_ended_again(group);

    slice_check();
    if (error == 0 && group->process != NULL)
        error = settle_promised(group, again->lost);
    if (error != 0)
        again->error = error;
    return true;
}

int children_lost_waits(kernel_set lost)
{
    struct again again = {.lost = lost};

    group_each(report_again, &again);
    return again.error;
}

void children_init(void)
{
    REMOTE_SERVE(PROCESS_BEGIN, begin, NULL, struct msg_process_begin, struct msg_process_state);
}
