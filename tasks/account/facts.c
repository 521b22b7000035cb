/* Data about the processes and threads of this kernel. See the header; tasks/account/survey.c sends the requests. Tasks
 * serve them, because replies are long and walking a large address space takes long. Structures are read under the lock
 * of the group or the space. */
#include "tasks/account/facts.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/seen/seen.h"
#include "mm/space/space.h"
#include "mm/space/survey.h"
#include "msg/slice.h"
#include "tasks/account/internal.h"
#include "tasks/remote/operation.h"
#include "tasks/sched/fair/fair.h"
#include "tasks/sched/internal.h"
#include "tasks/thread/walk.h"

/* --- lists of ids --- */

bool id_list_add(struct id_list *list, uint32_t id)
{
    if (list->count == list->room) {
        uint32_t room = list->room == 0 ? 64 : 2 * list->room;
        uint32_t *more = heap_alloc(room * sizeof(*more));

        if (more == NULL)
            return false;
        if (list->ids != NULL) {
            memcpy(more, list->ids, list->count * sizeof(*more));
            heap_free(list->ids, list->room * sizeof(*more));
        }
        list->ids = more;
        list->room = room;
    }
    list->ids[list->count++] = id;
    return true;
}

void id_list_free(struct id_list *list)
{
    heap_free(list->ids, list->room * sizeof(*list->ids));
    *list = (struct id_list){.ids = NULL};
}

/* Shell's sort. */
static void sort(uint32_t *ids, uint32_t count)
{
    for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < count; i++) {
            uint32_t id = ids[i], at = i;

            slice_check();
            for (; at >= gap && ids[at - gap] > id; at -= gap)
                ids[at] = ids[at - gap];
            ids[at] = id;
        }
    }
}

/* --- processes --- */

#define AREAS_AT_ONCE 256u /* areas that are added up under the lock of their space */

/* Whether the process is complete: one that is still being made has neither a live thread nor begun to end. */
static bool is_made_locked(const struct group *group)
{
    return group->process->live > 0 || group->exiting;
}

struct listing {
    struct id_list list;
    uint32_t from;
    bool failed;
};

static bool list_one(struct group *group, void *context)
{
    struct listing *listing = context;
    bool made;

    slice_check();
    if (group->process == NULL || group->id < listing->from)
        return true;
    spin_lock(&group->lock);
    made = is_made_locked(group);
    spin_unlock(&group->lock);
    listing->failed = made && !id_list_add(&listing->list, group->id);
    return !listing->failed;
}

/* Lists the processes at home here, from id FROM on, in ascending order. */
static int list_from(uint32_t from, struct id_list *out)
{
    struct listing listing = {.from = from};

    group_each(list_one, &listing);
    if (listing.failed) {
        id_list_free(&listing.list);
        return -ENOMEM;
    }
    sort(listing.list.ids, listing.list.count);
    *out = listing.list;
    return 0;
}

static void signal_facts_locked(const struct process *process, struct process_facts *out)
{
    out->pending = process->signals.pending;
    for (uint32_t signal = 1; signal <= SIGNALS; signal++) {
        uint64_t handler = process->actions[signal - 1].handler;

        if (handler == SIG_IGN)
            out->ignored |= SIGNAL_BIT(signal);
        else if (handler != SIG_DFL)
            out->caught |= SIGNAL_BIT(signal);
    }
}

static void space_facts_locked(struct space *space, struct process_facts *out)
{
    out->space = space->id;
    out->space_home = space->home;
    spin_lock(&space->lock);
    out->members |= space->members;
    spin_unlock(&space->lock);
}

/* Adds up the bytes of all areas of the space on this kernel, and of those that are locked, in slices. */
static void add_sizes(struct process_facts *out)
{
    struct space *space = space_get(out->space);
    const struct area *area = NULL;
    uint64_t at = 0;

    while (space != NULL) {
        spin_lock(&space->lock);
        area = area_next(&space->areas, at);
        for (uint32_t i = 0; i < AREAS_AT_ONCE && area != NULL; i++) {
            uint64_t size = area->end - (area->start > at ? area->start : at);

            out->size += size;
            out->locked += (area->prot & AREA_LOCKED) != 0 ? size : 0;
            at = area->end;
            area = area_after(&space->areas, area);
        }
        spin_unlock(&space->lock);
        if (area == NULL || slice_check())
            break;
    }
    if (space != NULL)
        space_put(space);
}

static int process_facts_here(uint32_t id, struct process_facts *out)
{
    struct group *group = group_find(id);
    const struct process *process = group != NULL ? group->process : NULL;
    int error = -ESRCH;

    memset(out, 0, sizeof(*out));
    if (process != NULL) {
        spin_lock(&group->lock);
        if (is_made_locked(group))
            error = 0;
        out->id = id;
        out->parent = process->parent;
        out->group = process->process_group;
        out->session = process->session;
        out->condition = process->zombie ? PROCESS_ENDED : group->exiting ? PROCESS_ENDS : PROCESS_LIVES;
        out->threads = process->live;
        out->exit_signal = process->exit_signal;
        out->status = process->status;
        out->home = instance.kernel;
        out->members = 1ull << instance.kernel;
        out->user_ns = group->gone_user_ns;
        out->system_ns = group->gone_system_ns;
        out->children_user_ns = process->children_user_ns;
        out->children_system_ns = process->children_system_ns;
        out->children_use = process->children_used.use;
        out->account = group->gone;
        out->peak = process->peak;
        out->start_ns = process->start_ns;
        out->program_ns = process->program_ns;
        signal_facts_locked(process, out);
        if (group->space != NULL)
            space_facts_locked(group->space, out);
        out->environment = process->environment;
        out->environment_size = process->environment_size;
        out->arguments_size = process->arguments_size;
        out->umask = process_umask_of(process);
        memcpy(out->ids, &process->credentials, sizeof(out->ids));
        memcpy(out->name, process->name, sizeof(out->name));
        spin_unlock(&group->lock);
    }
    if (group != NULL)
        group_put(group);
    if (out->space != 0)
        add_sizes(out);
    return error;
}

static void count_thread_locked(struct thread *thread, void *context)
{
    struct task_counts *counts = context;

    if (thread->presence == THREAD_PRESENT)
        counts->present++;
    else
        counts->shadows++;
}

static bool count_one(struct group *group, void *context)
{
    struct task_counts *counts = context;

    slice_check();
    spin_lock(&group->lock);
    counts->groups++;
    counts->processes += group->process != NULL;
    spin_unlock(&group->lock);
    group_each_thread(group, count_thread_locked, counts);
    return true;
}

void task_counts(struct task_counts *out)
{
    *out = (struct task_counts){0};
    group_each(count_one, out);
}

/* --- threads --- */

static uint32_t state_of(enum thread_state state, enum wait_end end, bool quiesced)
{
    if (state == THREAD_DEAD)
        return 'X';
    if (state != THREAD_BLOCKED)
        return 'R';
    if (quiesced)
        return 'T';
    return end == WAIT_INTERRUPTIBLE ? 'S' : 'D';
}

static int32_t runs_as_locked(const struct thread *thread)
{
    uint32_t priority = (uint32_t)(thread->donated ? thread->donated_policy : thread->context.policy) >>
                        POLICY_PRIORITY_SHIFT;

    return priority > 0 ? -1 - (int32_t)priority : 20 + (thread->donated ? thread->donated_nice : thread->context.nice);
}

/* The lock of THREAD's group is held. */
static void thread_facts_locked(struct thread *thread, struct thread_facts *out)
{
    const struct thread_context *context = &thread->context;
    struct cpu_queue *queue;
    const char *what = NULL;

    memset(out, 0, sizeof(*out));
    out->tid = thread->tid;
    out->presence = thread->presence;
    out->kernel = instance.kernel;
    out->went_to = thread->went_to;
    out->moves = context->moves;
    out->visited = thread->visited;
    out->nice = context->nice;
    out->policy = context->policy & POLICY_MASK;
    out->priority = context->policy >> POLICY_PRIORITY_SHIFT;
    out->runs_as = runs_as_locked(thread);
    out->start_ns = context->start_ns;
    out->account = thread->account;
    out->blocked = context->signal_mask;
    out->pending = thread->signals.pending;
    memcpy(out->affinity, context->affinity, sizeof(out->affinity));
    memcpy(out->name, context->name, sizeof(out->name));
    sched_cpu_time(thread, &out->user_ns, &out->system_ns);
    queue = sched_lock(thread);
    out->state = state_of(thread->state, thread->wait_end, thread->quiesced);
    out->cpu = cpus[thread->cpu]->number;
    if (thread->state == THREAD_BLOCKED)
        what = thread->reason.what;
    spin_unlock(&queue->lock);
    if (what != NULL)
        memcpy(out->waits, what, strnlen(what, sizeof(out->waits) - 1));
    if (thread->presence != THREAD_PRESENT) { /* only the thread's present kernel has these */
        out->state = 'R';
        out->waits[0] = '\0';
    }
}

struct thread_list {
    struct member_facts *out; /* with the counts */
    struct id_list *list;
    uint32_t from; /* the least id that is listed */
};

static void list_thread_locked(struct thread *thread, void *context)
{
    struct thread_list *found = context;

    if (thread->presence == THREAD_PRESENT)
        found->out->present++;
    else
        found->out->shadows++;
    if (thread->tid >= found->from && found->list->count < found->list->room) /* it may be full if some have arrived */
        found->list->ids[found->list->count++] = thread->tid;
}

/* Counts the threads of GROUP on this kernel, and lists the ids from FROM on. */
static int list_threads(struct group *group, uint32_t from, struct member_facts *out, struct id_list *list)
{
    struct thread_list found = {.out = out, .list = list, .from = from};
    uint32_t room;

    spin_lock(&group->lock);
    room = group->count;
    spin_unlock(&group->lock);
    list->ids = heap_alloc((room + 1) * sizeof(uint32_t));
    if (list->ids == NULL)
        return -ENOMEM;
    list->room = room + 1;
    group_each_thread(group, list_thread_locked, &found);
    sort(list->ids, list->count);
    return 0;
}

static void add_thread(uint32_t group, uint32_t tid, struct member_facts *out, struct thread_facts *threads)
{
    struct thread *thread = thread_lock(tid);

    if (thread == NULL)
        return;
    if (thread->group->id == group) {
        thread_facts_locked(thread, &threads[out->count]);
        if (threads[out->count].state != 'X')
            out->count++;
    }
    thread_unlock(thread);
}

/* OUT has FACTS_PART_MAX bytes. */
static int member_facts_here(const struct msg_member_facts *asked, struct member_facts *out)
{
    struct thread_facts *threads = (struct thread_facts *)(out + 1);
    struct id_list list = {.ids = NULL};
    struct group *group;
    struct space_pages pages;
    struct space *space;
    int error = 0;

    memset(out, 0, sizeof(*out));
    if (asked->one != 0) {
        add_thread(asked->group, asked->thread, out, threads);
        return 0;
    }
    group = group_find(asked->group);
    if (group != NULL) {
        group_cpu_time(group, &out->user_ns, &out->system_ns);
        group_account(group, &out->account, &out->peak);
        error = list_threads(group, asked->thread, out, &list);
        group_put(group);
    }
    for (uint32_t i = 0; i < list.count && asked->thread != THREADS_NONE; i++) {
        if (out->count == FACTS_THREADS_MAX) {
            out->next = list.ids[i];
            break;
        }
        add_thread(asked->group, list.ids[i], out, threads);
    }
    id_list_free(&list);
    space = asked->space != 0 ? space_get(asked->space) : NULL;
    if (space != NULL) {
        space_count_pages(space, &pages);
        spin_lock(&space->lock);
        out->stats = space->stats;
        spin_unlock(&space->lock);
        seen_last(space, out->seen_last);
        out->resident = pages.owned;
        out->huge = pages.huge;
        out->stats.prefetch_used += pages.prefetch_used;
        space_put(space);
    }
    return error;
}

/* --- operations --- */

static int part_room(const struct remote_request *request)
{
    (void)request;
    return FACTS_PART_MAX;
}

/* Replies with as many ids as fit. */
static int run_list(const struct remote_request *request, void *result)
{
    struct msg_process_listed *out = result;
    struct id_list list;
    int error = list_from(((const struct msg_process_list *)request->data)->id, &list);

    if (error != 0)
        return error;
    *out = (struct msg_process_listed){.count = list.count < FACTS_IDS_MAX ? list.count : FACTS_IDS_MAX};
    if (out->count > 0)
        memcpy(out + 1, list.ids, out->count * sizeof(uint32_t));
    if (out->count < list.count)
        out->next = list.ids[out->count];
    id_list_free(&list);
    return (int)(sizeof(*out) + out->count * sizeof(uint32_t));
}

static int run_process(const struct remote_request *request, void *result)
{
    int error = process_facts_here(((const struct msg_process_list *)request->data)->id, result);

    return error != 0 ? error : (int)sizeof(struct process_facts);
}

static int run_member(const struct remote_request *request, void *result)
{
    struct member_facts *facts = result;
    int error = member_facts_here(request->data, facts);

    return error != 0 ? error : (int)(sizeof(*facts) + facts->count * sizeof(struct thread_facts));
}

void facts_init(void)
{
    REMOTE_SERVE_TASK(PROCESS_LIST, WORK_LEAF, run_list, part_room, struct msg_process_list, struct msg_process_listed);
    REMOTE_SERVE_TASK(PROCESS_FACTS, WORK_ROUND, run_process, NULL, struct msg_process_list, struct process_facts);
    REMOTE_SERVE_TASK(MEMBER_FACTS, WORK_LEAF, run_member, part_room, struct msg_member_facts, struct member_facts);
}
