/* Processes: creation, release, and the operations on their own state. See the header. */
#include "tasks/process/process.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/process/call.h"
#include "tasks/remote/watch.h"

#define UMASK_DEFAULT 022u

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
    list_init(&process->robust);
    watch_init(&process->child_events);
    timer_init(&process->alarm, group_hooks.alarm);
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

static uint64_t child_total; /* [a] */

uint64_t process_child_total(void)
{
    return __atomic_load_n(&child_total, __ATOMIC_RELAXED);
}

void process_add_child_locked(struct process *process, struct child *child)
{
    __atomic_fetch_add(&child_total, 1, __ATOMIC_RELAXED);
    list_append(&process->children, &child->node);
    child->by_id.key = child->id;
    ordered_add(&process->by_id, &child->by_id);
}

struct child *process_find_child_locked(const struct process *process, uint32_t id)
{
    struct ordered_link *link = ordered_find(&process->by_id, id);

    return link != NULL ? container_of(link, struct child, by_id) : NULL;
}

struct child *process_child_from_locked(const struct process *process, uint32_t place)
{
    return process_child_after_locked(process, place != 0 ? process_find_child_locked(process, place) : NULL);
}

void process_forget_child_locked(struct process *process, struct child *child)
{
    __atomic_fetch_sub(&child_total, 1, __ATOMIC_RELAXED);
    list_remove(&child->node);
    ordered_remove(&process->by_id, &child->by_id);
    heap_free(child, sizeof(*child));
}

void process_free(struct process *process)
{
    if (process == NULL)
        return;
    list_for_each_safe(node, &process->children)
        process_forget_child_locked(process, container_of(node, struct child, node));
    list_for_each_safe(node, &process->robust)
        heap_free(container_of(node, struct process_robust, node), sizeof(struct process_robust));
    signal_queue_remove(&process->signals, ~0ull);
    leave_umask(process->umask);
    heap_free(process, sizeof(*process));
}

int64_t process_id(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    const struct process *process = group->process;
    uint32_t id;

    (void)result;
    spin_lock(&group->lock);
    id = call->type == MSG_PROCESS_PARENT      ? process->parent
         : call->type == MSG_PROCESS_GET_GROUP ? process->process_group
                                               : process->session;
    spin_unlock(&group->lock);
    return id;
}

int64_t process_times(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    const struct process *process = group->process;

    (void)call;
    spin_lock(&group->lock);
    result->children_user_ns = process->children_user_ns;
    result->children_system_ns = process->children_system_ns;
    result->members = group_members_locked(group);
    result->peak = process->peak;
    spin_unlock(&group->lock);
    return 0;
}

int64_t process_set_umask(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process_umask *umask = group->process->umask;

    (void)result;
    if ((call->umask & PROCESS_UMASK_ASK) != 0)
        return process_umask_of(group->process);
    return __atomic_exchange_n(&umask->bits, call->umask & 0777, __ATOMIC_RELAXED);
}

/* tasks/account/account.md */
int64_t process_account(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process *process = group->process;

    spin_lock(&group->lock);
    switch (call->type) {
    case MSG_PROCESS_CHILDREN_USED:
        result->used = process->children_used;
        break;
    case MSG_PROCESS_ADD_USED:
        account_used_add(&process->children_used, &call->used);
        break;
    case MSG_PROCESS_ADD_IO:
        account_io_add(&process->children_io, &call->io);
        break;
    default: /* PROCESS_CHILDREN_IO, PROCESS_ENDED_IO */
        result->io = process->children_io;
        if (call->type == MSG_PROCESS_ENDED_IO)
            account_io_add(&result->io, &group->gone.io);
        break;
    }
    spin_unlock(&group->lock);
    return 0;
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
    process_call_init();
}
