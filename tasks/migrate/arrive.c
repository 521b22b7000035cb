/* Arrival of threads. See the header and tasks/migrate/migration.md.
 *
 * Everything runs in handlers, one at a time, and does not wait: an arrival whose kernel has to ask the home first is
 * kept in group->arrivals, and its request is answered when the home has replied. */
#include "tasks/migrate/arrive.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "mm/frame/heap.h"
#include "mm/life/life.h"
#include "mm/retrieve/strategy.h"
#include "msg/channel.h"
#include "tasks/balance/balance.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/migrate/join.h"
#include "tasks/migrate/state.h"
#include "tasks/process/process.h"
#include "tasks/process/user_thread.h"
#include "tasks/remote/watch.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/walk.h"

/* A returning thread: its shadow takes the state and wakes, unless it still polls. */
static int refill_locked(struct thread *thread, const struct msg_migrate *message)
{
    struct pi_priority before = pi_priority_locked(thread), now;
    int error = -EPROTO;

    if (thread->presence != THREAD_PRESENT && thread->disposition == DISPOSITION_NONE)
        error = state_install(thread, message);
    if (error != 0)
        return error;
    now = pi_priority_locked(thread);
    if (now.policy != before.policy || now.nice != before.nice)
        sched_share_changed(thread);
    thread->disposition = DISPOSITION_RETURN;
    sched_wake(thread);
    return 0;
}

/* A thread that waits until this kernel may host its group, and the kept request of its source. */
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
        group->exiting = true; /* refuses later arrivals */
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
            group_remove_thread_locked(group, thread);
            group->count--;
            spin_unlock(&group->lock);
            thread_abandon(thread);
            msg_kept_reply_error(&arrival->kept, error, arrival_done);
        }
    }
    watch_event(&group->moves);
}

/* Returns the group of an arriving thread with a reference, or NULL and *ERROR. The group is made if this is its first
 * thread here. */
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
    if (message->home == instance.kernel) /* the home has all groups that have not ended */
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

/* The arrival of a thread without a replica here. Releases the group's lock, which is held. *KEPT: the request is
 * answered later. */
static int settle_locked(struct group *group, const struct msg *m, bool *kept)
{
    const struct msg_migrate *message = m->data;
    bool joining = group->joining;
    struct arrival *arrival = NULL;
    struct thread *thread;
    int error;

    spin_unlock(
        &group->lock); /* handlers run one at a time, so the group stays joining, or not, and no other thread arrives */
    thread = thread_create_user(message->thread, group, NULL);
    if (joining)
        arrival = heap_alloc(sizeof(*arrival));
    if (thread == NULL || (joining && arrival == NULL)) {
        if (thread != NULL)
            thread_abandon(thread);
        heap_free(arrival, sizeof(*arrival));
        return -ENOMEM;
    }
    error = state_install(thread, message);
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
    /* While a thread here is in exec, all others are removed: an arriving thread would be missed. */
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

    if (state_valid(m)) {
        group = group_of(m->data, &error);
        if (group != NULL) {
            clock_advance_to(((const struct msg_migrate *)m->data)->clock);
            first = group->joining && list_empty(&group->arrivals);
            error = arrive(group, m, &kept);
            if (kept && first)
                join_ask(group);
            else if (first)
                join_undo(group); /* the only arrival has failed */
            watch_event(&group->moves);
            group_put(group);
        }
    }
    if (error == 0) { /* the time of the move; clock_advance_to has removed a difference between the clocks */
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

void arrive_init(void)
{
    msg_register(MSG_MIGRATE, handle_migrate, sizeof(struct msg_migrate), 0);
}
