/* Leaving: a thread moves to another kernel. See the header and tasks/migrate/migration.md.
 *
 * The thread sleeps in migrate_thread on the kernel it leaves: that is its shadow. Whatever wakes it has set its return
 * disposition before: RETURN after installing the state it came back with (tasks/migrate/arrive.c), EXIT, or FAIL when
 * it could not leave. */
#include "tasks/migrate/migrate.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
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
#include "tasks/kill/kill.h"
#include "tasks/migrate/arrive.h"
#include "tasks/migrate/join.h"
#include "tasks/migrate/state.h"
#include "tasks/process/stop.h"
#include "tasks/remote/watch.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/due.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/signal.h"

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
    struct stop_quiesced stop;
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

/* Packs THREAD, whose registers are all in its structures, for its way to KERNEL. The group's lock is held. NULL
 * without memory. */
static struct departure *departure_create_locked(struct thread *thread, uint32_t kernel)
{
    uint32_t size = (uint32_t)offsetof(struct departure, message) + state_bound(thread);
    struct departure *departure = size <= MSG_MAX ? heap_alloc_unset(size) : NULL;

    if (departure == NULL)
        return NULL;
    state_fill(thread, kernel, &departure->message);
    departure->group = thread->group->id;
    departure->tid = thread->tid;
    departure->size = size;
    return departure;
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
    if (group->pinned != NULL)
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
    msg_ask(&departure->asking, kernel, MSG_MIGRATE, &departure->message, state_length(&departure->message),
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

/* The balancer's wish. */
static bool order(uint32_t tid, uint32_t kernel)
{
    struct thread *thread = thread_lock(tid);
    bool can;

    if (thread == NULL)
        return false;
    can = thread->presence == THREAD_PRESENT && !thread_dying(thread) && thread->group->pinned == NULL &&
          (thread->due & THREAD_DUE_MOVE) == 0 && cpu_mask_allows(thread->context.affinity, kernel);
    if (can)
        thread_order_move_locked(thread, kernel);
    thread_unlock(thread);
    return can;
}

void migrate_init(void)
{
    state_init();
    balance_hooks.move = order;
    balance_hooks.fetch_ns = space_fetch_ns;
    arrive_init();
    join_init();
}
