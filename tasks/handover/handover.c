/* Handing over: the kernel that is to stop. See the header.
 *
 * Runs in a task while all programs are quiesced, so nothing else reads or changes the groups of this kernel. Each
 * message is sent only after the previous one has been answered. */
#include "tasks/handover/handover.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/area/area.h"
#include "mm/file/hold.h"
#include "mm/frame/heap.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/slice.h"
#include "tasks/family/set.h"
#include "tasks/futex/futex.h"
#include "tasks/handover/internal.h"
#include "tasks/process/call.h"
#include "tasks/role/adopted.h"

#define GATHERED 128u /* items in a message, which a handler serves */

struct sending {
    uint32_t successor;
    int error;
    struct msg_handover *message; /* MSG_MAX bytes */
    size_t item;                  /* bytes of each item that is being gathered */
    bool to_all;
};

/* Sends the gathered message unless an earlier one has failed. */
static void send(struct sending *s, uint32_t to, size_t size)
{
    if (s->error == 0)
        msg_gather(s->to_all ? msg_peers_reachable() : 1ull << to, MSG_HANDOVER, s->message,
                   (uint32_t)(sizeof(*s->message) + size), msg_note_error, &s->error, "hand-over of a group",
                   s->message->group);
}

static void send_one(struct sending *s, uint32_t to, enum handover_part part, uint32_t group, const void *data,
                     size_t size)
{
    *s->message = (struct msg_handover){.part = part, .group = group, .count = 1};
    if (size > 0)
        memcpy(s->message + 1, data, size);
    send(s, to, size);
}

static void gather_begin(struct sending *s, enum handover_part part, uint32_t group, size_t item)
{
    *s->message = (struct msg_handover){.part = part, .group = group};
    s->item = item;
}

static void gather_end(struct sending *s)
{
    if (s->message->count > 0)
        send(s, s->successor, s->message->count * s->item);
    s->message->count = 0;
}

static void gather(struct sending *s, const void *data)
{
    memcpy((uint8_t *)(s->message + 1) + s->message->count++ * s->item, data, s->item);
    if (s->message->count == GATHERED || sizeof(*s->message) + (s->message->count + 1) * s->item > MSG_MAX)
        gather_end(s);
}

/* --- what can be moved --- */

/* Returns what keeps GROUP, whose lock is held, from moving; NULL: nothing. */
static const char *why_not(const struct group *group)
{
    const struct process *process = group->process;

    if (group->pinned != NULL)
        return "a thread is pinned";
    if (group->joining)
        return "this kernel is joining it";
    if (group->stop_waits || (process != NULL && (process->stops.unanswered[0] | process->stops.unanswered[1]) != 0))
        return "it is being stopped";
    if (group->exiting &&
        (process != NULL ? !process->zombie && !process->is_pinned : group->kill_waits || group->freeing))
        return "it is ending";
    if (process != NULL && process->pruning)
        return "members are leaving it";
    if (process != NULL && process->vfork_done != NULL)
        return "its parent waits in vfork";
    if (group->space != NULL && group->space->slow != 0)
        return "a call is changing its address space";
    list_for_each(node, &group->threads) {
        if (container_of(node, const struct thread, group_node)->presence != THREAD_SHADOW)
            return "a thread is present";
    }
    return NULL;
}

static bool check_group(struct group *group, void *context)
{
    const char *why;

    slice_check();
    spin_lock(&group->lock);
    why = why_not(group);
    spin_unlock(&group->lock);
    if (why != NULL) {
        log_line("kernel: no stop: process %u cannot move: %s", group->id, why);
        *(int *)context = -EBUSY;
    }
    return true;
}

int handover_check(void)
{
    int error = 0;

    if (space_lock_count() != 0) {
        log_line("kernel: no stop: %lu locks of address spaces are held", space_lock_count());
        error = -EBUSY;
    }
    if (process_later_waits()) {
        log_line("kernel: no stop: signals to process groups are due");
        error = -EBUSY;
    }
    group_each_still(check_group, &error);
    return error;
}

/* --- staging --- */

static bool is_ours(uint32_t tid)
{
    return process_home(tid) == instance.kernel;
}

static bool has_births(const struct group *group)
{
    list_for_each(node, &group->threads) {
        if (is_ours(container_of(node, const struct thread, group_node)->tid))
            return true;
    }
    return false;
}

static void note_adopted_of(const struct adopted *entry, void *context)
{
    uint32_t *group = context;

    if (entry->group == *group)
        *group = 0;
}

/* Whether other kernels come here to look for threads of GROUP, because these were born in a role of this kernel. */
static bool is_looked_for(const struct group *group)
{
    uint32_t id = group->id;

    adopted_each(note_adopted_of, &id);
    return id == 0 || has_births(group);
}

static void send_areas(struct sending *s, const struct group *group)
{
    gather_begin(s, PART_AREAS, group->id, sizeof(struct msg_space_area));
    list_for_each(node, &group->space->areas.head) {
        const struct area *area = container_of(node, const struct area, node);
        struct msg_space_area item = {area->start, area->end, area->prot, area->backing};

        gather(s, &item);
    }
    gather_end(s);
}

static void send_marks(struct sending *s, const struct group *group)
{
    struct sharers_range item;
    uint64_t cursor = 0;

    gather_begin(s, PART_MARKS, group->id, sizeof(item));
    while (sharers_next(&group->space->sharers, &cursor, &item))
        gather(s, &item);
    gather_end(s);
}

static void send_policies(struct sending *s, const struct group *group)
{
    struct handover_policy item;

    gather_begin(s, PART_POLICIES, group->id, sizeof(item));
    for (item.number = 1; item.number <= POLICY_MAX; item.number++) {
        if (policy_known(group->space, (uint32_t)item.number, &item.policy))
            gather(s, &item);
    }
    gather_end(s);
}

static void send_process(struct sending *s, const struct group *group)
{
    const struct process *process = group->process;
    struct handover_process *out = (struct handover_process *)(s->message + 1);

    *s->message = (struct msg_handover){.part = PART_PROCESS, .group = group->id, .count = 1};
    *out = (struct handover_process){.parent = process->parent,
                                     .process_group = process->process_group,
                                     .session = process->session,
                                     .first = process->first,
                                     .executed = process->executed,
                                     .zombie = process->zombie,
                                     .exit_signal = process->exit_signal,
                                     .live = process->live,
                                     .status = process->status,
                                     .leader_status = process->leader_status,
                                     .stop_signal = process->stop_signal,
                                     .timer_next = process->timer_next,
                                     .pinned = process->is_pinned,
                                     .pins_away = process->pins_away,
                                     .continues = process->continues,
                                     .children_user_ns = process->children_user_ns,
                                     .children_system_ns = process->children_system_ns,
                                     .children_used = process->children_used,
                                     .children_io = process->children_io,
                                     .peak = process->peak,
                                     .start_ns = process->start_ns,
                                     .program_ns = process->program_ns,
                                     .alarm_at = process->alarm.at,
                                     .alarm_interval = process->alarm_interval};
    memcpy(out->actions, process->actions, sizeof(out->actions));
    out->credentials = process->credentials;
    memcpy(out->limits, process->limits, sizeof(out->limits));
    memcpy(out->attributes, process->attributes, sizeof(out->attributes));
    out->umask = process_umask_of(process);
    out->environment = process->environment;
    out->environment_size = process->environment_size;
    out->arguments_size = process->arguments_size;
    memcpy(out->name, process->name, sizeof(out->name));
    send(s, s->successor, sizeof(*out));

    gather_begin(s, PART_CHILDREN, group->id, sizeof(struct handover_child));
    list_for_each(at, &process->children) {
        const struct child *child = container_of(at, const struct child, node);
        struct handover_child item = {
            child->user_ns, child->system_ns, child->id,         child->group, child->exit_signal,
            child->status,  child->code,      child->stop_round, child->giver, 0};

        gather(s, &item);
    }
    gather_end(s);
}

static void send_signals(struct sending *s, const struct group *group)
{
    struct signal_info *infos = heap_alloc(SIGNAL_QUEUE_MAX * sizeof(*infos));
    uint32_t count;

    if (infos == NULL) {
        s->error = -ENOMEM;
        return;
    }
    count = signal_queue_list(&group->process->signals, infos, SIGNAL_QUEUE_MAX);
    gather_begin(s, PART_SIGNALS, group->id, sizeof(*infos));
    for (uint32_t i = 0; i < count; i++)
        gather(s, &infos[i]);
    gather_end(s);
    heap_free(infos, SIGNAL_QUEUE_MAX * sizeof(*infos));
}

static void send_timer(void *context, const struct timer_state *state)
{
    gather(context, state);
}

static void send_timers(struct sending *s, const struct group *group)
{
    gather_begin(s, PART_TIMERS, group->id, sizeof(struct timer_state));
    process_timers_each(group->process, send_timer, s);
    gather_end(s);
}

static void send_robust_one(void *context, uint32_t thread, uint64_t list)
{
    struct handover_robust item = {.list = list, .thread = thread};

    gather(context, &item);
}

static void send_robust(struct sending *s, const struct group *group)
{
    gather_begin(s, PART_ROBUST, group->id, sizeof(struct handover_robust));
    futex_robust_each(group, send_robust_one, s);
    gather_end(s);
}

static bool prepare_group(struct group *group, void *context)
{
    struct sending *s = context;
    bool ours = group->home == instance.kernel;
    uint64_t peak; /* not sent: the successor gets the pages */
    struct handover_group facts = {.signal_hint = group->signal_hint,
                                   .home = ours ? s->successor : group->home,
                                   .stop_round = group->stop_round,
                                   .stopped = group->stopped,
                                   .exiting = group->exiting,
                                   .has_space = group->space != NULL};

    if (!ours && !is_looked_for(group))
        return s->error == 0;
    facts.space.home = facts.home;
    if (group->space != NULL)
        facts.space.mode = group->space->mode;
    if (ours) { /* otherwise leave_group sends them to the home */
        facts.gone_user_ns = group->gone_user_ns;
        facts.gone_system_ns = group->gone_system_ns;
        group_account(group, &facts.account, &peak);
    }
    if (ours && group->space != NULL) {
        facts.space.complete = 1;
        facts.space.members = group->space->members & ~(1ull << instance.kernel);
        facts.space.break_start = group->space->break_start;
        facts.space.break_now = group->space->break_now;
        facts.space.later = group->space->later;
        facts.space.marked = group->space->sharers.everywhere;
    }
    send_one(s, s->successor, PART_GROUP, group->id, &facts, sizeof(facts));
    if (ours && group->space != NULL) {
        send_areas(s, group);
        send_marks(s, group);
        send_policies(s, group);
    }
    if (ours) {
        send_process(s, group);
        send_signals(s, group);
        send_timers(s, group);
        send_robust(s, group);
    }
    return s->error == 0;
}

/* --- where threads went --- */

struct places {
    struct sending *sending;
    bool all; /* also threads that were born in roles of other kernels */
};

static bool place_of_group(struct group *group, void *context)
{
    const struct places *places = context;

    list_for_each(node, &group->threads) {
        const struct thread *thread = container_of(node, const struct thread, group_node);
        struct handover_place place = {thread->tid, group->id, thread->went_to, 0};

        if (places->all || is_ours(thread->tid))
            gather(places->sending, &place);
    }
    return places->sending->error == 0;
}

static void place_of_adopted(const struct adopted *entry, void *context)
{
    const struct places *places = context;
    struct handover_place place = {entry->tid, entry->group, entry->went_to, 0};

    if (thread_find(entry->tid) == NULL)
        gather(places->sending, &place);
}

static void send_places(struct sending *s, enum handover_part part)
{
    struct places places = {s, part == PART_SHADOWS};

    gather_begin(s, part, 0, sizeof(struct handover_place));
    group_each_still(place_of_group, &places);
    adopted_each(place_of_adopted, &places);
    gather_end(s);
}

static void send_hold(void *context, uint64_t backing, const struct file_held *held)
{
    struct handover_hold item = {backing, held->granted, held->stamps};

    gather(context, &item);
}

int handover_prepare(uint32_t successor)
{
    struct sending s = {.successor = successor, .message = heap_alloc(MSG_MAX)};

    if (s.message == NULL)
        return -ENOMEM;
    group_each_still(prepare_group, &s);
    gather_begin(&s, PART_HOLDS, 0, sizeof(struct handover_hold));
    file_hold_each(send_hold, &s);
    gather_end(&s);
    send_places(&s, PART_PLACES);
    heap_free(s.message, MSG_MAX);
    return s.error;
}

/* --- commit --- */

static bool leave_group(struct group *group, void *context)
{
    struct sending *s = context;
    struct handover_member member = {
        .gone_user_ns = group->gone_user_ns, .gone_system_ns = group->gone_system_ns, .joins = UINT32_MAX};
    uint64_t peak;

    if (group->home == instance.kernel)
        return true;
    group_account(group, &member.account, &peak);
    if (is_looked_for(group))
        member.joins = s->successor;
    send_one(s, group->home, PART_MEMBER, group->id, &member, sizeof(member));
    if (s->error == -ESRCH) /* its process has ended, and nobody wants to know what it has used */
        s->error = 0;
    return s->error == 0;
}

int handover_commit(uint32_t successor)
{
    static uint8_t buffer[MSG_MAX] __attribute__((aligned(16))); /* no allocation, because the commit must not fail */
    struct sending s = {.successor = successor, .message = (struct msg_handover *)(void *)buffer};

    group_each_still(leave_group, &s);
    s.to_all = true;
    send_places(&s, PART_SHADOWS);
    return s.error;
}
