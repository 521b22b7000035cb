/* Handing over: the receivers. The successor stages groups, which stay invisible until the commit; homes of groups
 * replace the kernel that stops among their members; every kernel replaces it where its shadows name it. See
 * tasks/handover/handover.h.
 *
 * Handlers do everything, one at a time, while all programs are quiesced; so the staged state needs no lock. */
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/evacuate/evacuate.h"
#include "mm/file/hold.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "msg/slice.h"
#include "tasks/freeze/freeze.h"
#include "tasks/futex/futex.h"
#include "tasks/handover/handover.h"
#include "tasks/handover/internal.h"
#include "tasks/process/call.h"
#include "tasks/role/adopted.h"

struct laid_out {
    struct laid_out *next;
    struct group *group;
    struct space *space;
    bool fresh; /* the group was made for the hand-over, and is not published yet */
    struct handover_group facts;
    struct process *process; /* NULL: the home stays elsewhere, only threads of the group are to be found here */
    uint64_t alarm_at, alarm_interval;
    void *files;
};

struct laid_hold {
    struct laid_hold *next;
    struct handover_hold hold;
};

static struct laid_out *all_groups;
static struct laid_hold *all_holds;
static struct list all_places; /* struct adopted, not yet in the table */

static struct laid_out *find(uint32_t id)
{
    struct laid_out *laid = all_groups;

    while (laid != NULL && laid->group->id != id)
        laid = laid->next;
    return laid;
}

static int take_group(uint32_t id, const struct handover_group *facts)
{
    struct laid_out *laid = find(id) == NULL ? heap_alloc(sizeof(*laid)) : NULL;
    int error = 0;

    if (laid == NULL)
        return find(id) == NULL ? -ENOMEM : -EPROTO;
    laid->facts = *facts;
    laid->group = group_find(id);
    if (laid->group != NULL) {
        group_put(laid->group); /* it cannot end while programs are quiesced */
    } else {
        laid->group = group_create(id, facts->home, NULL);
        laid->fresh = true;
    }
    if (laid->group == NULL) {
        heap_free(laid, sizeof(*laid));
        return -ENOMEM;
    }
    laid->next = all_groups;
    all_groups = laid;
    if (facts->has_space != 0 && (laid->fresh || facts->space.complete != 0))
        error = evacuate_stage(id, &facts->space, &laid->space);
    return error;
}

static int take_process(struct laid_out *laid, const struct handover_process *from)
{
    struct group holder = {.id = laid->group->id};
    struct process *process;

    if (laid->process != NULL || process_create(&holder, NULL) != 0)
        return laid->process != NULL ? -EPROTO : -ENOMEM;
    process = laid->process = holder.process;
    process->group = laid->group;
    process->parent = from->parent;
    process->process_group = from->process_group;
    process->session = from->session;
    process->first = from->first != 0;
    process->executed = from->executed != 0;
    process->zombie = from->zombie != 0;
    process->exit_signal = from->exit_signal;
    process->live = from->live;
    process->status = from->status;
    process->leader_status = from->leader_status;
    process->stop_signal = from->stop_signal;
    process->timer_next = from->timer_next;
    process->is_quiet = process->is_pinned = from->pinned != 0;
    process->pins_away = from->pins_away & ~(1ull << instance.kernel);
    process->continues = from->continues;
    process->children_user_ns = from->children_user_ns;
    process->children_system_ns = from->children_system_ns;
    process->children_used = from->children_used;
    process->children_io = from->children_io;
    process->peak = from->peak;
    process->start_ns = from->start_ns;
    process->program_ns = from->program_ns;
    laid->alarm_at = from->alarm_at;
    laid->alarm_interval = from->alarm_interval;
    memcpy(process->actions, from->actions, sizeof(process->actions));
    process->credentials = from->credentials;
    memcpy(process->limits, from->limits, sizeof(process->limits));
    memcpy(process->attributes, from->attributes, sizeof(process->attributes));
    process->umask->bits = from->umask;
    process->environment = from->environment;
    process->environment_size = from->environment_size;
    process->arguments_size = from->arguments_size;
    process->over = process->zombie;
    memcpy(process->name, from->name, sizeof(process->name));
    return 0;
}

static int take_children(struct process *process, const struct handover_child *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct child *child = heap_alloc(sizeof(*child));

        if (child == NULL)
            return -ENOMEM;
        child->id = from[i].id;
        child->group = from[i].group;
        child->exit_signal = from[i].exit_signal;
        child->status = from[i].status;
        child->code = from[i].code;
        child->stop_round = from[i].stop_round;
        child->giver = from[i].giver;
        child->user_ns = from[i].user_ns;
        child->system_ns = from[i].system_ns;
        process_add_child_locked(process, child); /* nobody else knows the process yet */
    }
    return 0;
}

static int take_signals(struct process *process, const struct signal_info *infos, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (infos[i].signal == 0 || infos[i].signal > SIGNALS)
            return -EPROTO;
        if (signal_queue_add(&process->signals, &infos[i], process->credentials.uid, LIMIT_NONE) != 0)
            return -ENOMEM;
    }
    return 0;
}

static int take_timers(struct process *process, const struct timer_state *timers, uint32_t count)
{
    int error = 0;

    for (uint32_t i = 0; i < count && error == 0; i++) {
        const struct timer_facts *is = &timers[i].is;

        if (is->kind > TIMER_CPU_THREAD || is->notify > TIMER_THREAD || is->signal > SIGNALS ||
            (is->signal == 0 && is->notify != TIMER_NONE))
            return -EPROTO;
        error = process_timer_stage(process, &timers[i]);
    }
    return error;
}

static int take_robust(struct process *process, const struct handover_robust *robust, uint32_t count)
{
    int error = 0;

    for (uint32_t i = 0; i < count && error == 0; i++) /* nobody else knows the process yet */
        error = futex_note_robust_locked(process, robust[i].thread, robust[i].list);
    return error;
}

static int take_places(const struct handover_place *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct adopted *entry;

        if (thread_find(places[i].tid) != NULL)
            continue; /* it is here, or its shadow has its place */
        entry = heap_alloc(sizeof(*entry));
        if (entry == NULL)
            return -ENOMEM;
        entry->tid = places[i].tid;
        entry->group = places[i].group;
        entry->went_to = places[i].went_to;
        list_append(&all_places, &entry->node);
    }
    return 0;
}

static int take_holds(const struct handover_hold *holds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct laid_hold *laid = heap_alloc(sizeof(*laid));

        if (laid == NULL)
            return -ENOMEM;
        laid->hold = holds[i];
        laid->next = all_holds;
        all_holds = laid;
    }
    return 0;
}

static void end_holds(bool for_good)
{
    while (all_holds != NULL) {
        struct laid_hold *laid = all_holds;

        all_holds = laid->next;
        if (for_good) {
            file_hold_grant(laid->hold.backing, (uint32_t)laid->hold.granted);
            file_hold_stamp(laid->hold.backing, &laid->hold.stamps);
        }
        heap_free(laid, sizeof(*laid));
    }
}

/* What this kernel's threads of GROUP have noted at its old home (tasks/futex/note.c) is recorded at the new one. */
static void forget_notes_locked(struct group *group)
{
    list_for_each(node, &group->threads)
        container_of(node, struct thread, group_node)->robust_note = 0;
}

static void commit_group(struct laid_out *laid)
{
    struct group *group = laid->group;
    const struct handover_group *facts = &laid->facts;

    spin_lock(&group->lock);
    group->home = facts->home;
    group->gone_user_ns += facts->gone_user_ns;
    group->gone_system_ns += facts->gone_system_ns;
    account_add(&group->gone, &facts->account);
    group->signal_hint |= facts->signal_hint;
    if (laid->fresh) {
        group->space = laid->space;
        group->stop_round = facts->stop_round;
        group->stopped = facts->stopped != 0;
        group->exiting = facts->exiting != 0;
    }
    if (laid->process != NULL) { /* otherwise its home, which may be this kernel, has it */
        group->process = laid->process;
        forget_notes_locked(group);
        group->pins_told = false; /* its pins here are those of the home now */
        group->parts = 0;
        if (laid->process->is_pinned)
            group_get(group); /* as kill_begin does, for the second round */
    }
    if (laid->files != NULL)
        group->files = laid->files;
    if (laid->process != NULL && laid->alarm_at != 0) {
        laid->process->alarm_interval = laid->alarm_interval;
        laid->process->alarm_due = laid->alarm_at;
        if (!timer_arm(&laid->process->alarm, laid->alarm_at))
            group_get(group);
    }
    if (laid->process != NULL) {
        process_timers_start_locked(laid->process);
        process_limits_copy_locked(group);
    }
    spin_unlock(&group->lock);
    if (laid->fresh)
        group_publish(group);
}

void handover_publish(void)
{
    evacuate_commit();
    end_holds(true);
    while (all_groups != NULL) {
        struct laid_out *laid = all_groups;

        all_groups = laid->next;
        commit_group(laid);
        heap_free(laid, sizeof(*laid));
        slice_check();
    }
    while (!list_empty(&all_places)) {
        struct list *node = all_places.next;

        slice_check();
        list_remove(node);
        adopted_add(container_of(node, struct adopted, node));
    }
}

static int take_member(uint32_t id, const struct handover_member *member, uint32_t from)
{
    struct group *group = group_find(id);

    if (group == NULL)
        return -ESRCH;
    spin_lock(&group->lock);
    group->gone_user_ns += member->gone_user_ns;
    group->gone_system_ns += member->gone_system_ns;
    account_add(&group->gone, &member->account);
    if (group->space != NULL) {
        spin_lock(&group->space->lock);
        group->space->members &= ~(1ull << from);
        if (member->joins < instance.kernels)
            group->space->members |= 1ull << member->joins;
        spin_unlock(&group->space->lock);
    }
    spin_unlock(&group->lock);
    group_put(group);
    return 0;
}

static void take_shadows(const struct handover_place *places, uint32_t count, uint32_t from)
{
    for (uint32_t i = 0; i < count; i++) {
        struct thread *thread = thread_lock(places[i].tid);

        if (thread == NULL) {
            adopted_redirect(places[i].tid, from, places[i].went_to);
            continue;
        }
        if (thread->presence == THREAD_SHADOW && thread->went_to == from)
            thread->went_to = places[i].went_to;
        thread_unlock(thread);
    }
}

static int take_policies(uint32_t group, const struct handover_policy *policies, uint32_t count)
{
    int error = 0;

    for (uint32_t i = 0; i < count && error == 0; i++)
        error = evacuate_stage_policy(group, policies[i].number, &policies[i].policy);
    return error;
}

static const size_t item_sizes[] = {
    [PART_GROUP] = sizeof(struct handover_group),     [PART_AREAS] = sizeof(struct msg_space_area),
    [PART_PROCESS] = sizeof(struct handover_process), [PART_CHILDREN] = sizeof(struct handover_child),
    [PART_SIGNALS] = sizeof(struct signal_info),      [PART_PLACES] = sizeof(struct handover_place),
    [PART_MEMBER] = sizeof(struct handover_member),   [PART_SHADOWS] = sizeof(struct handover_place),
    [PART_HOLDS] = sizeof(struct handover_hold),      [PART_POLICIES] = sizeof(struct handover_policy),
    [PART_TIMERS] = sizeof(struct timer_state),       [PART_MARKS] = sizeof(struct sharers_range),
    [PART_ROBUST] = sizeof(struct handover_robust)};

static int take(const struct msg_handover *message, uint32_t from)
{
    const void *data = message + 1;
    struct laid_out *laid = find(message->group);

    switch (message->part) {
    case PART_GROUP:
        return take_group(message->group, data);
    case PART_AREAS:
        return evacuate_stage_areas(message->group, data, message->count);
    case PART_MARKS:
        return evacuate_stage_marks(message->group, data, message->count);
    case PART_POLICIES:
        return take_policies(message->group, data, message->count);
    case PART_PROCESS:
        return laid == NULL ? -EPROTO : take_process(laid, data);
    case PART_CHILDREN:
        return laid == NULL || laid->process == NULL ? -EPROTO : take_children(laid->process, data, message->count);
    case PART_SIGNALS:
        return laid == NULL || laid->process == NULL ? -EPROTO : take_signals(laid->process, data, message->count);
    case PART_TIMERS:
        return laid == NULL || laid->process == NULL ? -EPROTO : take_timers(laid->process, data, message->count);
    case PART_ROBUST:
        return laid == NULL || laid->process == NULL ? -EPROTO : take_robust(laid->process, data, message->count);
    case PART_PLACES:
        return take_places(data, message->count);
    case PART_HOLDS:
        return take_holds(data, message->count);
    case PART_MEMBER:
        return take_member(message->group, data, from);
    case PART_SHADOWS:
        take_shadows(data, message->count, from);
        return 0;
    default:
        return -EPROTO;
    }
}

static void handle_handover(const struct msg *m)
{
    const struct msg_handover *message = m->data;
    int error = -EPROTO;

    if (freeze_active() && message->part != 0 && message->part < sizeof(item_sizes) / sizeof(item_sizes[0]) &&
        m->length == sizeof(*message) + message->count * item_sizes[message->part])
        error = take(message, m->ticket.kernel);
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

int handover_stage_files(uint32_t id, void *files)
{
    struct laid_out *laid = find(id);

    if (laid == NULL || laid->process == NULL || laid->files != NULL)
        return -EPROTO;
    laid->files = files;
    return 0;
}

void handover_discard(void)
{
    end_holds(false);
    while (all_groups != NULL) {
        struct laid_out *laid = all_groups;

        all_groups = laid->next;
        if (laid->process != NULL)
            process_timers_discard(laid->process);
        process_free(laid->process);
        if (laid->fresh)
            group_abandon(laid->group);
        heap_free(laid, sizeof(*laid));
    }
    list_for_each_safe(node, &all_places) {
        list_remove(node);
        heap_free(container_of(node, struct adopted, node), sizeof(struct adopted));
    }
}

struct switching {
    uint32_t from, to;
};

static bool switch_group(struct group *group, void *context)
{
    const struct switching *s = context;

    slice_check();
    spin_lock(&group->lock);
    if (group->home == s->from) { /* not so at TO: commit_group has done both */
        group->home = s->to;
        forget_notes_locked(group);
    }
    if ((group->parts >> s->from & 1) != 0) /* what FROM had is TO's now */
        group->parts = (group->parts & ~(1ull << s->from)) | 1ull << s->to;
    list_for_each(node, &group->threads) {
        struct thread *thread = container_of(node, struct thread, group_node);

        thread->visited &= ~(1ull << s->from);
        if (process_home(thread->tid) == s->from) /* so that the new kernel of its role receives THREAD_GONE */
            thread->visited |= 1ull << s->to;
    }
    spin_unlock(&group->lock);
    return true;
}

void handover_switch(uint32_t from, uint32_t to)
{
    struct switching s = {from, to};

    group_each_still(switch_group, &s);
}

void handover_init(void)
{
    list_init(&all_places);
    msg_register(MSG_HANDOVER, handle_handover, sizeof(struct msg_handover), 0);
}
