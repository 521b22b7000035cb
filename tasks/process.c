/* Processes: creation, children, waiting, process groups and sessions. See the header. */
#include "tasks/process.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/exit.h"
#include "tasks/freeze.h"
#include "tasks/post.h"
#include "tasks/process_internal.h"
#include "tasks/role.h"
#include "tasks/sched.h"
#include "tasks/usage.h"
#include "tasks/wire.h"
#include "tasks/work.h"

#define UMASK_DEFAULT 022u
#define FROZEN_ALARM_DELAY 1000000u /* ns until an alarm looks again whether programs still stand */

static void fire_alarm(struct timer *timer);

uint32_t process_home(uint32_t id)
{
    return role_kernel(id >> TID_KERNEL_SHIFT);
}

int process_create(struct group *group, const struct msg_process_state *inherit)
{
    struct process *process = heap_alloc(sizeof(*process));

    if (process == NULL)
        return -ENOMEM;
    process->group = group;
    process->parent = PROCESS_INIT;
    process->process_group = group->id;
    process->session = group->id;
    process->exit_signal = SIGCHLD;
    process->continues = 1;
    process->start_ns = clock_now();
    process->umask = UMASK_DEFAULT;
    list_init(&process->children);
    watch_init(&process->child_events);
    timer_init(&process->alarm, fire_alarm);
    signal_queue_init(&process->signals);
    if (inherit != NULL) {
        process->parent = inherit->parent;
        process->process_group = inherit->process_group;
        process->session = inherit->session;
        process->umask = inherit->umask;
        process->command_size = inherit->command_size;
        memcpy(process->command, inherit->command, sizeof(process->command));
        memcpy(process->name, inherit->name, sizeof(process->name));
        memcpy(process->actions, inherit->actions, sizeof(process->actions));
    }
    group->process = process;
    return 0;
}

void process_free(struct process *process)
{
    if (process == NULL)
        return;
    list_for_each_safe(node, &process->children)
        heap_free(container_of(node, struct child, node), sizeof(struct child));
    signal_queue_remove(&process->signals, ~0ull);
    heap_free(process, sizeof(*process));
}

static struct child *find_child_locked(struct process *process, uint32_t id)
{
    list_for_each(node, &process->children) {
        struct child *child = container_of(node, struct child, node);

        if (child->id == id)
            return child;
    }
    return NULL;
}

/* Home of the parent. */
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
            list_append(&process->children, &child->node);
        }
        *state = (struct msg_process_state){.parent = group->id,
                                            .process_group = process->process_group,
                                            .session = process->session,
                                            .umask = process->umask,
                                            .command_size = process->command_size,
                                            .grandparent = process->parent,
                                            .exit_signal = process->exit_signal};
        memcpy(state->name, process->name, sizeof(state->name));
        memcpy(state->command, process->command, sizeof(state->command));
        memcpy(state->actions, process->actions, sizeof(state->actions));
    }
    spin_unlock(&group->lock);
    if (error != 0)
        heap_free(child, sizeof(*child));
    return error;
}

struct begin_work {
    struct work work;
    struct msg_kept kept;
    struct msg_process_begin begin;
    struct msg_process_state state;
};

static void begin_done(struct msg_kept *kept)
{
    heap_free(container_of(kept, struct begin_work, kept), sizeof(struct begin_work));
}

static void handle_begin(const struct msg *m)
{
    const struct msg_process_begin *begin = m->data;
    struct group *group = group_find(begin->parent);
    struct begin_work *w = group != NULL && group->process != NULL ? heap_alloc(sizeof(*w)) : NULL;
    int error = w == NULL ? -ENOMEM : 0;

    if (group == NULL || group->process == NULL)
        error = -EAGAIN;
    else if (w != NULL)
        error = begin_child(group, begin, &w->state);
    if (group != NULL)
        group_put(group);
    if (error != 0) {
        heap_free(w, sizeof(*w));
        msg_reply_error(&m->ticket, error);
        return;
    }
    msg_keep(m, &w->kept, NULL);
    msg_kept_reply_long(&w->kept, &w->state, sizeof(w->state), begin_done);
}

static int ask_to_begin(const struct msg_process_begin *begin, struct msg_process_state *state)
{
    uint32_t home = process_home(begin->parent);
    struct group *group;
    int result;

    if (home != instance.kernel) {
        result = msg_call(home, MSG_PROCESS_BEGIN, begin, sizeof(*begin), state, sizeof(*state),
                          "leave to have a child", begin->parent);
        return result < 0 ? result : result == (int)sizeof(*state) ? 0 : -EPROTO;
    }
    group = group_find(begin->parent);
    if (group == NULL)
        return -EAGAIN;
    result = begin_child(group, begin, state);
    group_put(group);
    return result;
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
        if (error == -EAGAIN) /* that has ended, or is about to give away its children */
            error = 0;
    }
    heap_free(unused, sizeof(*unused));
    return error;
}

void process_cancel_child(uint32_t parent, uint32_t child)
{
    struct msg_process_call call = {
        .id = parent, .operation = PROCESS_CHILD_EVENT, .a = CHILD_EVENT(child, CHILD_CANCELLED, 0)};

    process_tell(&call);
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

static void forget_child_locked(struct child *child)
{
    list_remove(&child->node);
    heap_free(child, sizeof(*child));
}

static bool has_ended(const struct child *child)
{
    return child->code == CLD_EXITED || child->code == CLD_KILLED || child->code == CLD_DUMPED;
}

/* What wait4(2) does in one step: takes the first selected child of which there is something to tell. */
static int64_t wait_locked(struct process *process, uint64_t selector, uint64_t options,
                           struct msg_process_result *result)
{
    bool exists = false;

    if (selector >> 32 == SELECT_GROUP && (uint32_t)selector == 0)
        selector |= process->process_group;
    result->events = watch_events(&process->child_events);
    list_for_each(node, &process->children) {
        struct child *child = container_of(node, struct child, node);
        bool ended = has_ended(child);

        if (!selected(child, selector))
            continue;
        /* __WCLONE: only those that do not send SIGCHLD; __WALL: both */
        if ((options & WAIT_ALL) == 0 && (child->exit_signal != SIGCHLD) != ((options & WAIT_CLONE) != 0))
            continue;
        exists = true;
        if (!((ended && (options & WAIT_EXITED) != 0) ||
              (child->code == CLD_STOPPED && (options & WAIT_STOPPED) != 0) ||
              (child->code == CLD_CONTINUED && (options & WAIT_CONTINUED) != 0)))
            continue;
        result->child = child->id;
        result->status = child->status;
        result->code = child->code;
        result->user_ns = child->user_ns;
        result->system_ns = child->system_ns;
        if ((options & WAIT_NO_REAP) != 0)
            return 0;
        child->code = 0;
        if (ended) {
            result->reaped = 1;
            process->children_user_ns += child->user_ns;
            process->children_system_ns += child->system_ns;
            forget_child_locked(child);
        }
        return 0;
    }
    return exists ? 0 : -ECHILD;
}

static int64_t operation_wait(struct group *group, const struct msg_process_call *call,
                              struct msg_process_result *result)
{
    int64_t value;

    spin_lock(&group->lock);
    value = wait_locked(group->process, call->a, call->b, result);
    spin_unlock(&group->lock);
    return value;
}

/* News of a stop or a continue that a later one has overtaken, or the child's end. */
static bool is_late(const struct child *child, uint32_t code, uint32_t round)
{
    return (code == CLD_STOPPED || code == CLD_CONTINUED) &&
           (has_ended(child) || (int32_t)(round - child->stop_round) < 0);
}

/* A child has changed. 1: it has ended and is not kept for a wait. */
static int64_t operation_child_event(struct group *group, const struct msg_process_call *call)
{
    struct process *process = group->process;
    uint32_t id = (uint32_t)call->a;
    uint32_t code = call->a >> 32 & 0xff, status = call->a >> 40 & 0xffff;
    struct signal_info info = {.code = (int32_t)code, .pid = id};
    const struct signal_action *action = &process->actions[SIGCHLD - 1];
    struct child *child;
    bool keep = true;

    spin_lock(&group->lock);
    child = find_child_locked(process, id);
    if (child == NULL || group->exiting || is_late(child, code, (uint32_t)call->b)) {
        bool over = code != CLD_STOPPED && code != CLD_CONTINUED;

        if (child != NULL && over)
            forget_child_locked(child); /* its id may be another's before this process gives its children away */
        spin_unlock(&group->lock);
        return over ? 1 : 0;
    }
    info.signal = SIGCHLD;
    if (code == CHILD_CANCELLED) {
        forget_child_locked(child);
        info.signal = 0;
    } else {
        child->code = code;
        child->status = status;
        info.value = code == CLD_EXITED || code == CLD_STOPPED ? status >> 8 & 0xff : status & 0x7f;
        if (code == CLD_CONTINUED)
            info.value = SIGCONT;
        if (code == CLD_STOPPED || code == CLD_CONTINUED) {
            child->stop_round = (uint32_t)call->b;
            if ((action->flags & SA_NOCLDSTOP) != 0)
                info.signal = 0;
        } else {
            child->user_ns = call->b;
            child->system_ns = call->c;
            info.extra = call->b / CLOCK_TICK_NS | call->c / CLOCK_TICK_NS << 32;
            info.signal = child->exit_signal;
            if (child->exit_signal == SIGCHLD && (action->handler == SIG_IGN || (action->flags & SA_NOCLDWAIT) != 0)) {
                keep = false;
                if (action->handler == SIG_IGN)
                    info.signal = 0;
                forget_child_locked(child);
            }
        }
    }
    spin_unlock(&group->lock);
    if (info.signal != 0)
        signal_send_group(group, &info);
    watch_event(&process->child_events);
    return keep ? 0 : 1;
}

static int64_t operation_child_group(struct group *group, const struct msg_process_call *call)
{
    struct child *child;

    spin_lock(&group->lock);
    child = find_child_locked(group->process, (uint32_t)call->a);
    if (child != NULL)
        child->group = (uint32_t)call->b;
    spin_unlock(&group->lock);
    watch_event(&group->process->child_events);
    return 0;
}

/* The process is no longer known: its id may be given out again. */
static int64_t operation_reaped(struct group *group)
{
    bool gone;

    spin_lock(&group->lock);
    gone = group->process->zombie;
    group->process->zombie = false;
    spin_unlock(&group->lock);
    if (gone)
        group_forget(group);
    return 0;
}

static int64_t operation_new_parent(struct group *group, uint32_t parent)
{
    bool gone;

    spin_lock(&group->lock);
    group->process->parent = parent;
    group->process->exit_signal = SIGCHLD;
    gone = group->process->zombie && parent == PROCESS_INIT;
    if (gone)
        group->process->zombie = false;
    spin_unlock(&group->lock);
    if (gone) /* init never waits */
        group_forget(group);
    return 0;
}

static int64_t operation_set_group(struct group *group, const struct msg_process_call *call,
                                   struct msg_process_result *answer)
{
    struct process *process = group->process;
    uint32_t wanted = (uint32_t)call->a, caller = (uint32_t)call->b, session = (uint32_t)call->c;
    int64_t result = 0;

    spin_lock(&group->lock);
    answer->parent = process->parent;
    if (caller != group->id && caller != process->parent)
        result = -ESRCH;
    else if (caller != group->id && process->executed)
        result = -EACCES;
    else if (process->session == group->id)
        result = -EPERM; /* a session leader */
    else if (wanted != group->id && session != process->session)
        result = -EPERM;
    else if (caller != group->id && call->c >> 32 != process->session)
        result = -EPERM; /* a child in another session than the caller */
    else
        process->process_group = wanted;
    spin_unlock(&group->lock);
    return result;
}

static int64_t operation_set_session(struct group *group, struct msg_process_result *answer)
{
    struct process *process = group->process;
    int64_t result = group->id;

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

static int64_t operation_take_signal(struct group *group, const struct msg_process_call *call,
                                     struct msg_process_result *result)
{
    struct process *process = group->process;
    int64_t taken;

    spin_lock(&group->lock);
    taken = signal_queue_take(&process->signals, call->a, &result->info) ? 1 : 0;
    if (taken != 0 && (SIGNAL_BIT(result->info.signal) & SIGNAL_STOPPING) != 0)
        result->info.extra = process->continues; /* a SIGCONT that comes before the thread has stopped us counts */
    result->hint = process->signals.pending;
    spin_unlock(&group->lock);
    return taken;
}

static int64_t operation_take_action(struct group *group, uint64_t signal, struct msg_process_result *result)
{
    struct signal_action *action;

    if (signal == 0 || signal > SIGNALS)
        return -EPROTO;
    spin_lock(&group->lock);
    action = &group->process->actions[signal - 1];
    result->action = *action;
    if ((action->flags & SA_RESETHAND) != 0 && action->handler > SIG_IGN)
        action->handler = SIG_DFL;
    spin_unlock(&group->lock);
    return 0;
}

static bool ignores(const struct signal_action *action, uint32_t signal)
{
    enum signal_default what = signal_default(signal);

    return action->handler == SIG_IGN ||
           (action->handler == SIG_DFL && (what == SIGNAL_IGNORED || what == SIGNAL_CONTINUES));
}

static int64_t operation_set_action(struct group *group, const struct msg_process_call *call,
                                    struct msg_process_result *result)
{
    struct process *process = group->process;
    struct signal_action *action;
    bool forget = false;

    if (call->signal == 0 || call->signal > SIGNALS)
        return -EPROTO;
    spin_lock(&group->lock);
    action = &process->actions[call->signal - 1];
    result->action = *action;
    if (call->sets != 0) {
        *action = call->action;
        forget = ignores(action, call->signal);
        if (forget)
            signal_queue_remove(&process->signals, SIGNAL_BIT(call->signal));
    }
    spin_unlock(&group->lock);
    if (forget) {
        signal_forget(group, SIGNAL_BIT(call->signal));
        signal_forget_elsewhere(group, SIGNAL_BIT(call->signal));
    }
    return 0;
}

int64_t process_action(struct group *group, uint32_t signal, const struct signal_action *action,
                       struct signal_action *old)
{
    struct msg_process_call call = {.id = group->id, .operation = PROCESS_SET_ACTION, .signal = signal};
    struct msg_process_result result;
    int64_t error;

    if (action != NULL) {
        call.action = *action;
        call.sets = 1;
    }
    error = process_call(&call, &result);
    *old = result.action;
    if (error == 0 && action != NULL && ignores(action, signal))
        signal_forget(group, SIGNAL_BIT(signal)); /* here at once; elsewhere the home sees to it */
    return error;
}

void process_reset_actions(struct process *process)
{
    for (uint32_t i = 0; i < SIGNALS; i++) {
        uint64_t handler = process->actions[i].handler == SIG_IGN ? SIG_IGN : SIG_DFL;

        process->actions[i] = (struct signal_action){.handler = handler};
    }
}

static int64_t operation_signal(struct group *group, const struct msg_process_call *call)
{
    if (call->info.signal > SIGNALS)
        return -EINVAL;
    return call->info.signal == 0 ? 0 : signal_send_group(group, &call->info);
}

/* The process's timer has come to its end: SIGALRM, and once more if it has an interval. */
static void fire_alarm(struct timer *timer)
{
    struct process *process = container_of(timer, struct process, alarm);
    struct group *group = process->group;
    struct signal_info info = {.signal = SIGALRM, .code = SI_KERNEL};
    bool again;

    if (freeze_active()) { /* with the reference it had */
        timer_arm(timer, clock_now() + FROZEN_ALARM_DELAY);
        return;
    }
    spin_lock(&group->lock);
    again = process->alarm_interval != 0 && !group->exiting;
    if (again)
        again = !timer_arm(timer, clock_now() + process->alarm_interval); /* with the reference it had */
    spin_unlock(&group->lock);
    signal_send_group(group, &info);
    if (!again)
        group_put(group);
}

static int64_t operation_alarm(struct group *group, const struct msg_process_call *call,
                               struct msg_process_result *result)
{
    struct process *process = group->process;
    uint64_t now = clock_now();
    int64_t left = 0;
    bool drop = false;

    spin_lock(&group->lock);
    if (process->alarm.at != 0) /* what is due but has not fired yet counts as a moment left */
        left = process->alarm.at > now ? (int64_t)(process->alarm.at - now) : 1;
    result->interval = process->alarm_interval;
    if (call->c != 0 && !group->exiting) {
        process->alarm_interval = call->b;
        if (call->a == 0) {
            drop = timer_disarm(&process->alarm);
        } else {
            if (!timer_arm(&process->alarm, now + call->a))
                group_get(group);
        }
    }
    spin_unlock(&group->lock);
    if (drop)
        group_put(group);
    return left;
}

static void end_alarm(struct group *group)
{
    if (timer_disarm(&group->process->alarm))
        group_put(group);
}

static int64_t read_locked(struct group *group, const uint32_t *word)
{
    uint32_t value;

    spin_lock(&group->lock);
    value = *word;
    spin_unlock(&group->lock);
    return value;
}

int64_t process_operate(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process *process = group->process;
    int64_t value;

    switch (call->operation) {
    case PROCESS_PARENT:
        return read_locked(group, &process->parent);
    case PROCESS_GET_GROUP:
        return read_locked(group, &process->process_group);
    case PROCESS_GET_SESSION:
        return read_locked(group, &process->session);
    case PROCESS_SET_GROUP:
        return operation_set_group(group, call, result);
    case PROCESS_SET_SESSION:
        return operation_set_session(group, result);
    case PROCESS_SIGNAL:
        return operation_signal(group, call);
    case PROCESS_WAIT:
        return operation_wait(group, call, result);
    case PROCESS_TAKE_SIGNAL:
        return operation_take_signal(group, call, result);
    case PROCESS_TAKE_ACTION:
        return operation_take_action(group, call->a, result);
    case PROCESS_SET_ACTION:
        return operation_set_action(group, call, result);
    case PROCESS_STOP:
        stop_group(group, (uint32_t)call->a, call->b);
        return 0;
    case PROCESS_CONTINUE:
        stop_continue(group);
        return 0;
    case PROCESS_PENDING:
        spin_lock(&group->lock);
        result->hint = process->signals.pending;
        spin_unlock(&group->lock);
        return 0;
    case PROCESS_RETARGET:
        signal_retarget(group, call->a);
        return 0;
    case PROCESS_NEW_PARENT:
        return operation_new_parent(group, (uint32_t)call->a);
    case PROCESS_CHILD_EVENT:
        return operation_child_event(group, call);
    case PROCESS_CHILD_GROUP:
        return operation_child_group(group, call);
    case PROCESS_REAPED:
        return operation_reaped(group);
    case PROCESS_TIMES:
        spin_lock(&group->lock);
        result->children_user_ns = process->children_user_ns;
        result->children_system_ns = process->children_system_ns;
        result->members = group_members_locked(group);
        spin_unlock(&group->lock);
        return 0;
    case PROCESS_UMASK:
        spin_lock(&group->lock);
        value = process->umask;
        process->umask = (uint32_t)call->a & 0777;
        spin_unlock(&group->lock);
        return value;
    case PROCESS_ALARM:
        return operation_alarm(group, call, result);
    default:
        return -EPROTO;
    }
}

/* Init has no threads: it takes every signal and does nothing. */
static int64_t operate_init(const struct msg_process_call *call)
{
    switch (call->operation) {
    case PROCESS_GET_GROUP:
    case PROCESS_GET_SESSION:
        return PROCESS_INIT;
    case PROCESS_PARENT:
    case PROCESS_SIGNAL:
        return 0;
    default:
        return -ESRCH;
    }
}

static int64_t operate_here(const struct msg_process_call *call, struct msg_process_result *result)
{
    struct group *group = group_find(call->id);
    int64_t value = -ESRCH;

    if (call->id == PROCESS_INIT)
        return operate_init(call);
    if (group != NULL) {
        if (group->process != NULL)
            value = process_operate(group, call, result);
        group_put(group);
    }
    return value;
}

static void handle_call(const struct msg *m)
{
    struct msg_process_result result;

    memset(&result, 0, sizeof(result));
    result.value = operate_here(m->data, &result);
    msg_reply(&m->ticket, &result, sizeof(result));
}

int64_t process_call(const struct msg_process_call *call, struct msg_process_result *result)
{
    int length;

    memset(result, 0, sizeof(*result));
    if (process_home(call->id) >= instance.kernels)
        return -ESRCH;
    if (process_home(call->id) == instance.kernel)
        return operate_here(call, result);
    length = msg_call(process_home(call->id), MSG_PROCESS_CALL, call, sizeof(*call), result, sizeof(*result),
                      "answer about a process", call->id);
    if (length != (int)sizeof(*result))
        return length == -EAGAIN || length >= 0 ? -ESRCH : length;
    return result->value;
}

int64_t process_call_surely(const struct msg_process_call *call, struct msg_process_result *result)
{
    int64_t value;

    while ((value = process_call(call, result)) == -ENOMEM) { /* an answer gives some back */
        msg_poll();
        sched_yield();
    }
    return value;
}

void process_tell(const struct msg_process_call *call)
{
    struct msg_process_result result;

    if (process_home(call->id) == instance.kernel)
        operate_here(call, &result);
    else if (process_home(call->id) < instance.kernels &&
             post(process_home(call->id), MSG_PROCESS_CALL, call, sizeof(*call)) != 0)
        panic("tasks: no memory to tell the home of process %u", call->id);
}

/* Every child that is left belongs to init. */
static void give_children_away(struct group *group)
{
    for (;;) {
        struct msg_process_call call = {.operation = PROCESS_NEW_PARENT, .a = PROCESS_INIT};
        struct msg_process_result result;
        struct child *child = NULL;

        spin_lock(&group->lock);
        if (!list_empty(&group->process->children)) {
            child = container_of(group->process->children.next, struct child, node);
            list_remove(&child->node);
        }
        spin_unlock(&group->lock);
        if (child == NULL)
            return;
        call.id = child->id;
        heap_free(child, sizeof(*child));
        process_call_surely(&call, &result); /* before our own parent hears of the end: then they have a new one */
    }
}

void process_ended(struct group *group)
{
    struct process *process = group->process;
    uint32_t status = process->status;
    struct msg_process_call call = {
        .operation = PROCESS_CHILD_EVENT,
        .a = CHILD_EVENT(group->id, (status & 0x7f) != 0 ? CLD_KILLED : CLD_EXITED, status)};
    struct msg_process_result result;
    bool forget;

    end_alarm(group);
    give_children_away(group);
    spin_lock(&group->lock);
    process->zombie = true;
    call.id = process->parent;
    call.b = group->gone_user_ns + process->children_user_ns;
    call.c = group->gone_system_ns + process->children_system_ns;
    spin_unlock(&group->lock);
    if (process->first)
        group_hooks.first_ended(status);
    /* 0: the parent has noted it, and says REAPED later */
    forget = call.id == PROCESS_INIT || process_call_surely(&call, &result) != 0;
    if (forget) {
        spin_lock(&group->lock);
        forget = process->zombie; /* a NEW_PARENT may have been here before */
        process->zombie = false;
        spin_unlock(&group->lock);
    }
    if (forget)
        group_forget(group);
    watch_event(&process->child_events); /* whoever gave up watching, of which word may be lost: it holds the group */
}

static struct watch_source *find_children(uint64_t id, void **held)
{
    struct group *group = group_find((uint32_t)id);

    if (group == NULL)
        return NULL;
    *held = group;
    if (group->process != NULL)
        return &group->process->child_events;
    group_put(group);
    return NULL;
}

static struct watch_source *find_moves(uint64_t id, void **held)
{
    struct group *group = group_find((uint32_t)id);

    if (group == NULL)
        return NULL;
    *held = group;
    return &group->moves;
}

static void put_group(void *held)
{
    group_put(held);
}

void process_init(void)
{
    static const struct watch_lookup children = {find_children, put_group};
    static const struct watch_lookup moves = {find_moves, put_group};

    watch_register(WATCH_CHILDREN, &children);
    watch_register(WATCH_THREAD, &moves);
    msg_register(MSG_PROCESS_CALL, handle_call, sizeof(struct msg_process_call), sizeof(struct msg_process_result));
    msg_register(MSG_PROCESS_BEGIN, handle_begin, sizeof(struct msg_process_begin), sizeof(struct msg_process_state));
    process_set_init();
    usage_init();
}
