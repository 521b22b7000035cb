/* Processes: creation, end, operations from any kernel, process groups and sessions. See the header. Children are in
 * children.c, signals in signal.c, the timer in tasks/timer/alarm.c. */
#include "tasks/process/process.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/account/usage.h"
#include "tasks/exit/exit.h"
#include "tasks/handover/freeze.h"
#include "tasks/process/internal.h"
#include "tasks/process/session.h"
#include "tasks/process/wire.h"
#include "tasks/remote/post.h"
#include "tasks/remote/role.h"
#include "tasks/remote/work.h"
#include "tasks/sched/sched.h"

#define UMASK_DEFAULT 022u

uint32_t process_home(uint32_t id)
{
    return role_kernel(id >> TID_KERNEL_SHIFT);
}

int process_create(struct group *group, const struct msg_process_state *inherit)
{
    struct process *process = heap_alloc(sizeof(*process));
    struct process_umask *umask = heap_alloc(sizeof(*umask));

    if (process == NULL || umask == NULL) {
        heap_free(process, sizeof(*process));
        heap_free(umask, sizeof(*umask));
        return -ENOMEM;
    }
    *umask = (struct process_umask){.processes = 1, .bits = inherit != NULL ? inherit->umask : UMASK_DEFAULT};
    process->umask = umask;
    process->group = group;
    process->parent = PROCESS_INIT;
    process->process_group = group->id;
    process->session = group->id;
    process->exit_signal = SIGCHLD;
    process->continues = 1;
    process->start_ns = process->program_ns = clock_now();
    list_init(&process->children);
    list_init(&process->timers);
    watch_init(&process->child_events);
    timer_init(&process->alarm, alarm_fire);
    signal_queue_init(&process->signals);
    process_limits_init(process->limits);
    process_attributes_init(process->attributes);
    if (inherit != NULL) {
        process->parent = inherit->parent;
        process->process_group = inherit->process_group;
        process->session = inherit->session;
        process->environment = inherit->environment;
        process->environment_size = inherit->environment_size;
        process->arguments_size = inherit->arguments_size;
        memcpy(process->name, inherit->name, sizeof(process->name));
        memcpy(process->actions, inherit->actions, sizeof(process->actions));
        memcpy(process->limits, inherit->limits, sizeof(process->limits));
        process_attributes_inherit(process->attributes, inherit->attributes);
    }
    group->process = process;
    return 0;
}

static void leave_umask(struct process_umask *umask)
{
    if (__atomic_sub_fetch(&umask->processes, 1, __ATOMIC_ACQ_REL) == 0)
        heap_free(umask, sizeof(*umask));
}

void process_share_umask(struct process *process, const struct process *other)
{
    __atomic_fetch_add(&other->umask->processes, 1, __ATOMIC_RELAXED);
    leave_umask(process->umask);
    process->umask = other->umask;
}

void process_free(struct process *process)
{
    if (process == NULL)
        return;
    list_for_each_safe(node, &process->children)
        heap_free(container_of(node, struct child, node), sizeof(struct child));
    signal_queue_remove(&process->signals, ~0ull);
    leave_umask(process->umask);
    heap_free(process, sizeof(*process));
}

/* The process is no longer known: its id may be given out again. */
static int64_t operation_reaped(struct group *group, struct msg_process_result *result)
{
    const struct process *process = group->process;
    bool gone;

    spin_lock(&group->lock);
    result->used = (struct account_used){.use = group->gone.use, .peak = process->peak};
    account_used_add(&result->used, &process->children_used);
    gone = group->process->zombie;
    group->process->zombie = false;
    spin_unlock(&group->lock);
    if (gone)
        group_forget(group);
    return 0;
}

/* tasks/account/account.md */
static void account_locked(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process *process = group->process;

    switch (call->operation) {
    case PROCESS_CHILDREN_USED:
        result->used = process->children_used;
        break;
    case PROCESS_ADD_USED:
        account_used_add(&process->children_used, &call->used);
        break;
    case PROCESS_ADD_IO:
        account_io_add(&process->children_io, &call->io);
        break;
    default: /* PROCESS_CHILDREN_IO, PROCESS_ENDED_IO */
        result->io = process->children_io;
        if (call->operation == PROCESS_ENDED_IO)
            account_io_add(&result->io, &group->gone.io);
        break;
    }
}

/* What its parent is to know of its end. */
static void give_end_locked(struct group *group, struct msg_process_result *result)
{
    const struct process *process = group->process;

    result->status = process->status;
    result->user_ns = group->gone_user_ns + process->children_user_ns;
    result->system_ns = group->gone_system_ns + process->children_system_ns;
}

static int64_t operation_new_parent(struct group *group, const struct msg_process_call *call,
                                    struct msg_process_result *result)
{
    struct process *process = group->process;
    uint32_t parent = (uint32_t)call->a;
    struct signal_info info = {.code = SI_USER, .pid = (uint32_t)call->b};
    bool ended, gone;

    spin_lock(&group->lock);
    process->parent = parent;
    process->exit_signal = SIGCHLD;
    ended = process->zombie;
    gone = ended && parent == PROCESS_INIT;
    if (ended)
        give_end_locked(group, result);
    else
        info.signal = process->attributes[ATTRIBUTE_DEATH_SIGNAL];
    if (gone)
        process->zombie = false;
    spin_unlock(&group->lock);
    if (info.signal != 0)
        signal_send_group(group, &info);
    if (gone) /* init never waits */
        group_forget(group);
    return ended ? 1 : 0;
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
        return process_signal(group, call);
    case PROCESS_WAIT:
        return children_wait(group, call, result);
    case PROCESS_TAKE_SIGNAL:
        return process_take_signal(group, call, result);
    case PROCESS_TAKE_ACTION:
        return process_take_action(group, call->a, result);
    case PROCESS_SET_ACTION:
        return process_set_action(group, call, result);
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
        return operation_new_parent(group, call, result);
    case PROCESS_CHILD_EVENT:
        return children_event(group, call, result);
    case PROCESS_CHILD_GROUP:
        return children_set_group(group, call);
    case PROCESS_REAPED:
        return operation_reaped(group, result);
    case PROCESS_TIMES:
        spin_lock(&group->lock);
        result->children_user_ns = process->children_user_ns;
        result->children_system_ns = process->children_system_ns;
        result->members = group_members_locked(group);
        result->peak = process->peak;
        spin_unlock(&group->lock);
        return 0;
    case PROCESS_CHILDREN_USED:
    case PROCESS_CHILDREN_IO:
    case PROCESS_ENDED_IO:
    case PROCESS_ADD_USED:
    case PROCESS_ADD_IO:
        spin_lock(&group->lock);
        account_locked(group, call, result);
        spin_unlock(&group->lock);
        return 0;
    case PROCESS_UMASK:
        if ((call->a & PROCESS_UMASK_ASK) != 0)
            return process_umask_of(process);
        return __atomic_exchange_n(&process->umask->bits, (uint32_t)call->a & 0777, __ATOMIC_RELAXED);
    case PROCESS_ALARM:
        return alarm_operate(group, call, result);
    case PROCESS_ADOPT:
        return children_adopt(group, call, result);
    case PROCESS_ATTRIBUTE:
        return process_attribute_operate(group, call);
    case PROCESS_SET_IDS:
        return process_set_ids(group, call);
    case PROCESS_MAY_SIGNAL:
        return process_may_signal(group, call);
    case PROCESS_MAY_REACH:
        return process_may_reach(group, call);
    case PROCESS_LIMIT:
        return process_limit_operate(group, call, result);
    case PROCESS_TIMER_CREATE:
    case PROCESS_TIMER_SET:
    case PROCESS_TIMER_GET:
    case PROCESS_TIMER_OVERRUN:
    case PROCESS_TIMER_TAKEN:
    case PROCESS_TIMER_DELETE:
        return process_timer_operate(group, call, result);
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
    case PROCESS_MAY_SIGNAL: /* it is root's */
        return (uint32_t)call->a == 0 ? 0 : -EPERM;
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

void process_ended(struct group *group)
{
    struct process *process = group->process;
    struct msg_process_call call = {.operation = PROCESS_CHILD_EVENT, .a = CHILD_ENDED(group->id, process->status)};
    struct msg_process_result result;
    bool forget;

    alarm_end(group);
    process_timers_end(group, true);
    if (process->session == group->id && !process->first)
        group_hooks.session_ended(process->session);
    children_give_away(group);
    spin_lock(&group->lock);
    process->zombie = process->over = true;
    call.id = process->parent;
    give_end_locked(group, &result);
    call.b = result.user_ns;
    call.c = result.system_ns;
    spin_unlock(&group->lock);
    if (process->first)
        group_hooks.first_ended(process->status);
    group_hooks.ended(group);
    /* 0: the parent has noted it, and says REAPED later */
    forget = call.id == PROCESS_INIT || process_call_surely(&call, &result) != 0;
    if (call.id != PROCESS_INIT && result.parent_session == process->session &&
        result.parent_group != process->process_group) /* it may have been what kept its group from being orphaned */
        session_look_after(process->process_group, process->session, group->id);
    if (forget) {
        spin_lock(&group->lock);
        /* a NEW_PARENT may have been here before: then whoever sent it has told the new one */
        forget = process->zombie && process->parent == call.id;
        if (forget)
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
    msg_register(MSG_PROCESS_BEGIN, children_handle_begin, sizeof(struct msg_process_begin),
                 sizeof(struct msg_process_state));
    process_set_init();
    usage_init();
}
