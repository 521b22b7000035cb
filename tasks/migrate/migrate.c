/* Moving a thread. See the header and tasks/migrate/migration.md.
 *
 * The thread sleeps in migrate_thread on the kernel it leaves: that is its shadow. Whatever wakes it has set its return
 * disposition before: RETURN after installing the state it came back with, EXIT, or FAIL when it could not leave. Both
 * sides are here, as a thread's state leaves and arrives in one form. */
#include "tasks/migrate/migrate.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/fault/fault.h"
#include "mm/frame/heap.h"
#include "mm/life/life.h"
#include "mm/retrieve/strategy.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "tasks/balance/balance.h"
#include "tasks/exit/exit.h"
#include "tasks/futex/pi/wire.h"
#include "tasks/migrate/join.h"
#include "tasks/migrate/pack.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/process/wire.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/sched.h"

#define CONTEXT_WORDS (sizeof(struct thread_context) / 8)
#define FRAME_WORDS (sizeof(struct trap_frame) / 8)
#define RUNS_MAX (2 + FPU_PARTS_MAX)

_Static_assert(sizeof(struct thread_context) % 8 == 0, "packed by words");

/* A departure and its message. It names the thread, so that an answer that comes late, when the thread is back or gone
 * again, changes nothing. */
struct departure {
    uint32_t group;
    uint32_t tid;
    uint32_t move;
    uint32_t size; /* bytes of all this */
    struct msg_asking asking;
    struct msg_migrate message; /* and what follows it */
};

static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct departure *departure = context;
    struct group *group = group_find(departure->group);
    uint32_t tid = departure->tid, move = departure->move;
    struct stop_standing stop;
    bool stopped = false;
    struct thread *thread;

    (void)kernel;
    (void)reply;
    heap_free(departure, departure->size);
    if (group == NULL)
        return;
    spin_lock(&group->lock);
    thread = thread_find(tid);
    if (thread != NULL && thread->group == group && thread->move == move && thread->presence == THREAD_LEAVING &&
        thread->disposition == DISPOSITION_NONE) {
        if (length < 0) {
            thread->fail_error = length;
            thread->disposition = DISPOSITION_FAIL;
            sched_wake(thread);
        } else {
            thread->presence = THREAD_SHADOW;
            stopped = stop_look_locked(group, &stop);
            if (group->exiting || thread->doomed) {
                thread->disposition = DISPOSITION_EXIT;
                sched_wake(thread);
            }
        }
    }
    spin_unlock(&group->lock);
    if (stopped)
        stop_answer(group, &stop);
    watch_event(&group->moves);
    group_put(group);
}

static uint32_t packed_most; /* [i] words that the state of a thread can take */

/* Everything of THREAD that packing leaves zeros out of. */
static uint32_t runs_of(struct thread *thread, struct pack_run runs[RUNS_MAX])
{
    uint8_t *fpu = thread->fpu;

    runs[0] = (struct pack_run){(uint64_t *)&thread->context, CONTEXT_WORDS};
    runs[1] = (struct pack_run){(uint64_t *)thread_frame(thread), FRAME_WORDS};
    for (uint32_t i = 0; i < fpu_part_count; i++)
        runs[2 + i] = (struct pack_run){(uint64_t *)(fpu + fpu_parts[i].offset), fpu_parts[i].size / 8};
    return 2 + fpu_part_count;
}

static const struct pi_lending *loans_of(const struct msg_migrate *message)
{
    const uint64_t *packed = (const uint64_t *)(message + 1);
    const struct signal_info *infos = (const struct signal_info *)(packed + message->packed);

    return (const struct pi_lending *)(infos + message->signals);
}

/* Packs THREAD, whose registers are all in its structures, for its way to KERNEL. The group's lock is held. NULL
 * without memory. */
static struct departure *departure_create_locked(struct thread *thread, uint32_t kernel)
{
    struct pack_run runs[RUNS_MAX];
    uint32_t count = runs_of(thread, runs);
    uint32_t size = (uint32_t)sizeof(struct departure) + packed_most * 8 +
                    thread->signals.count * (uint32_t)sizeof(struct signal_info) +
                    pi_loans_count(thread) * (uint32_t)sizeof(struct pi_lending);
    struct departure *departure = size <= MSG_MAX ? heap_alloc_unset(size) : NULL;
    struct group *group = thread->group;
    struct msg_migrate *message;
    uint64_t *packed;

    if (departure == NULL)
        return NULL;
    message = &departure->message;
    *message = (struct msg_migrate){0};
    message->group = group->id;
    message->home = group->home;
    message->thread = thread->tid;
    message->visited = thread->visited | 1ull << kernel;
    message->clock = clock_now();
    message->signal_hint = group->signal_hint;
    message->signals = thread->signals.count;
    packed = (uint64_t *)(message + 1);
    message->packed = pack(runs, count, packed);
    signal_queue_list(&thread->signals, (struct signal_info *)(packed + message->packed), message->signals);
    message->loans = pi_loans_count(thread);
    pi_loans_list(thread, (struct pi_lending *)loans_of(message));
    departure->group = group->id;
    departure->tid = thread->tid;
    departure->size = size;
    return departure;
}

static uint32_t message_length(const struct msg_migrate *message)
{
    return (uint32_t)sizeof(*message) + message->packed * 8 + message->signals * (uint32_t)sizeof(struct signal_info) +
           message->loans * (uint32_t)sizeof(struct pi_lending);
}

/* Sleeps as a shadow until there is a disposition, and goes on as that says. */
static int sleep_as_shadow(struct thread *thread)
{
    struct wait_reason reason = {.what = "its return (shadow)", .kernel = (int32_t)thread->went_to, .key = thread->tid};
    struct group *group = thread->group;
    enum thread_disposition disposition;

    spin_lock(&group->lock);
    while (thread->disposition == DISPOSITION_NONE) {
        sched_block(&group->lock, &reason, WAIT_FIRM, 0);
        spin_lock(&group->lock);
    }
    disposition = thread->disposition;
    thread->disposition = DISPOSITION_NONE;
    if (disposition != DISPOSITION_EXIT)
        thread->presence = THREAD_PRESENT;
    if (disposition != DISPOSITION_EXIT && thread->counted_on != 0)
        group_made_locked(group, thread, (int32_t)instance.kernel);
    if (group->stopped)
        __atomic_fetch_or(&thread->due, THREAD_DUE_STOP, __ATOMIC_SEQ_CST);
    spin_unlock(&group->lock);
    if (disposition == DISPOSITION_EXIT)
        exit_killed();
    thread_reload(thread);          /* others have run here while it was away */
    sched_affinity_changed(thread); /* if it had not fallen asleep nobody has looked where it may wake */
    signal_mask_changed(thread);
    watch_event(&group->moves);
    return disposition == DISPOSITION_RETURN ? 1 : thread->fail_error;
}

/* ORDERED: by thread->target, which was KERNEL: unless the order has been taken back, or another one has come. */
static int depart(uint32_t kernel, bool ordered)
{
    struct thread *thread = thread_current();
    struct group *group = thread->group;
    struct departure *departure;
    uint64_t fetched = 0;
    int result;

    if (kernel >= instance.kernels)
        return -EINVAL;
    if (kernel == instance.kernel)
        return 0;
    if (!msg_peer_started(kernel))
        return -EAGAIN;
    if (group->host != NULL)
        return -EBUSY;
    if (cpu_self()->fpu_owner == thread)
        fpu_save(thread->fpu);
    sched_settle();
    spin_lock(&group->lock);
    if (ordered && ((thread->due & THREAD_DUE_MOVE) == 0 || thread->target != kernel)) {
        spin_unlock(&group->lock);
        return 0;
    }
    departure = departure_create_locked(thread, kernel);
    if (departure != NULL) {
        if (group->count > 0 && thread->context.moves > 0) /* of the threads here each one's part */
            fetched = (group->space->stats.fetches - thread->fetched_before) / group->count + 1;
        thread_clear_due(thread, THREAD_DUE_MOVE); /* or it would be done when the thread comes back */
        cpu_self()->fpu_owner = NULL;              /* from now on only its return writes the area */
        thread->presence = THREAD_LEAVING;
        thread->went_to = kernel;
        if (thread->counted_on != 0)
            group_made_locked(group, thread, (int32_t)kernel);
        departure->move = ++thread->move;
    }
    spin_unlock(&group->lock);
    if (departure == NULL)
        return -ENOMEM;
    if (fetched > 0)
        balance_note_fetches(fetched);
    msg_ask(&departure->asking, kernel, MSG_MIGRATE, &departure->message, message_length(&departure->message),
            take_answer, departure);
    result = sleep_as_shadow(thread);
    if (result == -ESRCH) /* the group is ending, or all of it but the thread that runs another program */
        exit_when_killed();
    return result;
}

int migrate_thread(uint32_t kernel)
{
    return depart(kernel, false);
}

void migrate_order_locked(struct thread *thread, uint32_t kernel)
{
    thread->target = kernel;
    thread_set_due(thread, THREAD_DUE_MOVE);
}

void migrate_ordered(struct thread *thread)
{
    struct group *group = thread->group;
    uint32_t target;
    int error;

    spin_lock(&group->lock);
    target = thread->target;
    spin_unlock(&group->lock);
    error = depart(target, true);
    if (error > 0 || (error == 0 && target != instance.kernel))
        return; /* it has left and come back, or is to do something else */
    spin_lock(&group->lock);
    if (thread->target == target)
        thread_clear_due(thread, THREAD_DUE_MOVE);
    spin_unlock(&group->lock);
    watch_event(&group->moves); /* whoever ordered it looks again */
}

/* Puts the state of MESSAGE into THREAD, which does not run; what would fault in the kernel is brought into range. 0;
 * -EPROTO, -ENOMEM. */
static int install(struct thread *thread, const struct msg_migrate *message)
{
    const uint64_t *packed = (const uint64_t *)(message + 1);
    const struct signal_info *infos = (const struct signal_info *)(packed + message->packed);
    struct trap_frame *frame = thread_frame(thread);
    struct pack_run runs[RUNS_MAX];
    uint32_t count = runs_of(thread, runs);

    if (!unpack(runs, count, packed, message->packed) || !fpu_area_valid(thread->fpu) || frame->rip >= USER_END ||
        thread->context.fs_base >= USER_END || thread->context.gs_base >= USER_END)
        return -EPROTO;
    if (pi_loans_set(thread, loans_of(message), message->loans) != 0)
        return -ENOMEM;
    frame->cs = SELECTOR_USER_CODE;
    frame->ss = SELECTOR_USER_DATA;
    frame->rflags = (frame->rflags & RFLAGS_USER_MASK) | RFLAGS_USER_DEFAULT;
    thread->visited = message->visited;
    thread->fetched_before = group_space(thread->group)->stats.fetches;
    thread->context.moves++;
    signal_queue_remove(&thread->signals, ~0ull); /* what its shadow kept in case it could not leave */
    thread->context.name[THREAD_NAME_MAX - 1] = '\0';
    for (uint32_t i = 0; i < message->signals; i++)
        signal_queue_add(&thread->signals, &infos[i]); /* without memory for one it is lost, as if the queue was full */
    return 0;
}

static bool set_valid(kernel_set set)
{
    return instance.kernels == 64 || set >> instance.kernels == 0;
}

static bool message_valid(const struct msg *m)
{
    const struct msg_migrate *message = m->data;

    const struct signal_info *infos;

    if (!set_valid(message->visited) || message->home >= instance.kernels || message->signals > SIGNAL_QUEUE_MAX ||
        message->packed > MSG_MAX / 8 || message->loans > MSG_MAX / sizeof(struct pi_lending) ||
        m->length != message_length(message))
        return false;
    infos = (const struct signal_info *)((const uint64_t *)(message + 1) + message->packed);
    for (uint32_t i = 0; i < message->signals; i++) {
        if (infos[i].signal == 0 || infos[i].signal > SIGNALS)
            return false;
    }
    return true;
}

/* A thread that was here before: its shadow takes the state and wakes. */
static int refill_locked(struct thread *thread, const struct msg_migrate *message)
{
    int error = -EPROTO;

    if (thread->presence != THREAD_PRESENT && thread->disposition == DISPOSITION_NONE)
        error = install(thread, message);
    if (error != 0)
        return error;
    thread->disposition = DISPOSITION_RETURN;
    sched_wake(thread);
    return 0;
}

/* A thread that waits until its kernel may host its group, and the request to be answered then. */
struct arrival {
    struct list node; /* [g] in group->arrivals */
    struct thread *thread;
    struct msg_kept kept;
};

static void arrival_done(struct msg_kept *kept)
{
    heap_free(container_of(kept, struct arrival, kept), sizeof(struct arrival));
}

void migrate_joined(struct group *group, const struct msg_group_joined *joined, int error)
{
    struct list arrivals;

    list_init(&arrivals);
    spin_lock(&group->lock);
    group->joining = false;
    if (error == 0) {
        spin_lock(&group->space->lock);
        group->space->members |= joined->members;
        spin_unlock(&group->space->lock);
        space_mode_note(group->space, joined->mode);
        group->signal_hint |= joined->signal_hint;
        if ((int32_t)(joined->stop_round - group->stop_round) >= 0) {
            group->stop_round = joined->stop_round;
            group->stopped = joined->stopped != 0;
        }
    } else {
        group->exiting = true; /* nobody comes any more */
    }
    while (!list_empty(&group->arrivals)) {
        struct list *node = group->arrivals.next;

        list_remove(node);
        list_append(&arrivals, node);
    }
    spin_unlock(&group->lock);
    while (!list_empty(&arrivals)) {
        struct arrival *arrival = container_of(arrivals.next, struct arrival, node);
        struct thread *thread = arrival->thread;

        list_remove(&arrival->node);
        if (error == 0) {
            if (group->stopped)
                __atomic_fetch_or(&thread->due, THREAD_DUE_STOP, __ATOMIC_SEQ_CST);
            signal_mask_changed(thread);
            sched_start(thread);
            msg_kept_reply(&arrival->kept, NULL, 0, arrival_done);
        } else {
            spin_lock(&group->lock);
            list_remove(&thread->group_node);
            group->count--;
            spin_unlock(&group->lock);
            thread_abandon(thread);
            msg_kept_reply_error(&arrival->kept, error, arrival_done);
        }
    }
    watch_event(&group->moves);
}

/* The group of an arriving thread, made if its first member arrives here, with a reference taken; NULL and *ERROR. */
static struct group *group_of(const struct msg_migrate *message, int *error)
{
    struct group *group = group_find(message->group);
    struct space *space;

    if (group != NULL) {
        if (group->home == message->home)
            return group;
        *error = -EPROTO;
        group_put(group);
        return NULL;
    }
    *error = -ESRCH;
    if (message->home == instance.kernel) /* the home knows its groups until they have ended */
        return NULL;
    *error = -ENOMEM;
    space = space_create(message->group, message->home);
    group = space != NULL ? group_create(message->group, message->home, space) : NULL;
    if (group == NULL) {
        if (space != NULL)
            space_destroy(space);
        return NULL;
    }
    group->joining = true;
    group_get(group);
    space_publish(space);
    group_publish(group);
    return group;
}

/* A thread that was not here before. The group's lock is held; it is free afterwards. *KEPT: the answer comes later. */
static int settle_locked(struct group *group, const struct msg *m, bool *kept)
{
    const struct msg_migrate *message = m->data;
    bool joining = group->joining;
    struct arrival *arrival = NULL;
    struct thread *thread;
    int error;

    spin_unlock(
        &group->lock); /* handlers run one at a time: no other arrival, and no end of the joining, comes between */
    thread = thread_create_user(message->thread, group, NULL);
    if (joining)
        arrival = heap_alloc(sizeof(*arrival));
    if (thread == NULL || (joining && arrival == NULL)) {
        if (thread != NULL)
            thread_abandon(thread);
        heap_free(arrival, sizeof(*arrival));
        return -ENOMEM;
    }
    error = install(thread, message);
    if (error == 0)
        error = group_add_thread(group, thread);
    if (error != 0) {
        thread_abandon(thread);
        heap_free(arrival, sizeof(*arrival));
        return error;
    }
    if (joining) {
        arrival->thread = thread;
        msg_keep(m, &arrival->kept, NULL);
        spin_lock(&group->lock);
        list_append(&group->arrivals, &arrival->node);
        spin_unlock(&group->lock);
        *kept = true;
        return 0;
    }
    signal_mask_changed(thread);
    sched_start(thread);
    return 0;
}

static int arrive(struct group *group, const struct msg *m, bool *kept)
{
    const struct msg_migrate *message = m->data;
    struct thread *thread;
    int error;

    spin_lock(&group->lock);
    group->signal_hint |= message->signal_hint;
    /* While a thread here runs exec, all others end: one that comes now would be missed. */
    if (group->exiting || (group->process != NULL && group->process->pruning)) {
        spin_unlock(&group->lock);
        return -ESRCH;
    }
    thread = thread_find(message->thread);
    if (thread == NULL)
        return settle_locked(group, m, kept);
    error = thread->group == group ? refill_locked(thread, message) : -EPROTO;
    spin_unlock(&group->lock);
    return error;
}

static void handle_migrate(const struct msg *m)
{
    struct group *group;
    bool kept = false, first;
    int error = -EPROTO;

    if (message_valid(m)) {
        group = group_of(m->data, &error);
        if (group != NULL) {
            clock_advance_to(((const struct msg_migrate *)m->data)->clock);
            first = group->joining && list_empty(&group->arrivals);
            error = arrive(group, m, &kept);
            if (kept && first)
                join_ask(group);
            else if (first)
                join_undo(group); /* nobody came */
            watch_event(&group->moves);
            group_put(group);
        }
    }
    if (error == 0) { /* clocks that differ are brought forward above */
        uint64_t now = clock_now(), began = ((const struct msg_migrate *)m->data)->clock;

        balance_note_move(now > began ? now - began : 1);
    }
    if (kept)
        return;
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

/* The balancer's wish. */
static bool order(uint32_t tid, uint32_t kernel)
{
    struct thread *thread = thread_lock(tid);
    bool can;

    if (thread == NULL)
        return false;
    can = thread->presence == THREAD_PRESENT && !thread_dying(thread) && thread->group->host == NULL &&
          (thread->due & THREAD_DUE_MOVE) == 0 && cpu_mask_allows(thread->context.affinity, kernel);
    if (can)
        migrate_order_locked(thread, kernel);
    thread_unlock(thread);
    return can;
}

void migrate_init(void)
{
    uint32_t words = CONTEXT_WORDS + FRAME_WORDS;

    for (uint32_t i = 0; i < fpu_part_count; i++)
        words += fpu_parts[i].size / 8;
    packed_most = pack_bound(words, 2 + fpu_part_count);
    balance_hooks.move = order;
    balance_hooks.fetch_ns = space_fetch_ns;
    msg_register(MSG_MIGRATE, handle_migrate, sizeof(struct msg_migrate), 0);
    join_init();
}
