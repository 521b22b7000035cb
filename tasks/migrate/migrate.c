/* Departure: a thread moves to another kernel. See the header and tasks/migrate/migration.md.
 *
 * On the kernel that it leaves, the thread sleeps in migrate_thread; it is the shadow there. Its disposition is set
 * before it is woken: RETURN after the state of the returning thread has been installed (tasks/migrate/arrive.c), EXIT
 * when it is to die, or FAIL when it could not leave. The thread's presence and disposition are changed under
 * group->lock. */
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
#include "msg/request/call.h"
#include "tasks/balance/balance.h"
#include "tasks/futex/futex.h"
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

/* A departure and its message. It has the thread's id and its count of departures instead of a pointer, so that a late
 * reply, after the thread has come back or left again, changes nothing. */
struct departure {
    uint32_t group;
    uint32_t tid;
    uint32_t move;
    uint32_t size; /* bytes of this allocation */
    uint64_t load; /* as balance_note_departure has been told */
    struct msg_asking asking;
    struct msg_migrate message; /* followed by its variable part */
};

static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct departure *departure = context;
    struct group *group = group_find(departure->group);
    uint32_t tid = departure->tid, move = departure->move;
    struct stop_quiesced stop;
    bool stopped = false;
    struct thread *thread;

    (void)reply;
    balance_note_answer(kernel, departure->load);
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
            futex_note_drop_locked(thread); /* it is at home, or its home has a record */
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

/* Packs THREAD, whose registers have all been saved, for its move to KERNEL. The group's lock is held. NULL: no
 * memory. */
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
    departure->load = thread->share.load;
    return departure;
}

static bool has_disposition(const void *thread)
{
    return ((const volatile struct thread *)thread)->disposition != DISPOSITION_NONE;
}

/* Sleeps as a shadow until a disposition is set, and carries it out. Returns 1 after a return, or the error of a failed
 * departure. */
static int sleep_as_shadow(struct thread *thread)
{
    struct wait_reason reason = {.what = "its return (shadow)", .kernel = (int32_t)thread->went_to, .key = thread->tid};
    struct group *group = thread->group;
    enum thread_disposition disposition;

    sched_poll(has_disposition, thread); /* it may come back soon */
    spin_lock(&group->lock);
    while (thread->disposition == DISPOSITION_NONE) {
        sched_block(&group->lock, &reason, WAIT_FIRM, 0);
        spin_lock(&group->lock);
    }
    disposition = thread->disposition;
    if (disposition != DISPOSITION_EXIT) { /* otherwise it must not look as if it could be refilled */
        thread->disposition = DISPOSITION_NONE;
        thread->presence = THREAD_PRESENT;
    }
    if (disposition == DISPOSITION_RETURN) /* the answer to its departure is still under way */
        futex_note_drop_locked(thread);
    if (disposition != DISPOSITION_EXIT)
        group_made_moves_locked(thread, instance.kernel);
    if (group->stopped)
        __atomic_fetch_or(&thread->due, THREAD_DUE_STOP, __ATOMIC_SEQ_CST);
    spin_unlock(&group->lock);
    if (disposition == DISPOSITION_EXIT)
        exit_killed();
    thread_reload(thread);          /* other threads have used this CPU's registers meanwhile */
    sched_affinity_changed(thread); /* if it did not fall asleep, no wakeup has checked its affinity */
    signal_mask_changed(thread);
    watch_event(&group->moves);
    return disposition == DISPOSITION_RETURN ? 1 : thread->fail_error;
}

/* ORDERED: the move was ordered with thread->target, which was KERNEL. It is dropped if the order has been withdrawn or
 * replaced since then. */
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
    result = futex_leaves(thread, kernel);
    if (result != 0)
        return result;
    if (cpu_self()->fpu_owner == thread)
        fpu_save(thread->fpu);
    sched_settle();
    spin_lock(&group->lock);
    if (ordered && ((thread->due & THREAD_DUE_MOVE) == 0 || thread->target != kernel)) {
        spin_unlock(&group->lock);
        return 0;
    }
    departure = futex_leaves_home_locked(group, thread) != -ENOMEM ? departure_create_locked(thread, kernel) : NULL;
    if (departure != NULL) {
        if (group->count > 0 && thread->context.moves > 0) /* an equal share for each thread here */
            fetched = (group->space->stats.fetches - thread->fetched_before) / group->count + 1;
        thread_clear_due(thread, THREAD_DUE_MOVE); /* otherwise the thread would move again when it returns */
        cpu_self()->fpu_owner = NULL;              /* from now on only state_install writes the FPU area: */
        thread->fpu_cpu = UINT32_MAX;              /* no CPU's registers are this thread's */
        thread->presence = THREAD_LEAVING;
        thread->went_to = kernel;
        group_made_moves_locked(thread, kernel);
        departure->move = ++thread->move;
    }
    spin_unlock(&group->lock);
    if (departure == NULL)
        return -ENOMEM;
    if (fetched > 0)
        balance_note_fetches(fetched);
    balance_note_departure(kernel, departure->load);
    msg_ask(&departure->asking, kernel, MSG_MIGRATE, &departure->message, state_length(&departure->message),
            take_answer, departure);
    result = sleep_as_shadow(thread);
    if (result == -ESRCH) /* the group is ending, or another thread of it is in exec */
        exit_when_killed();
    return result;
}

/* The running thread stays here, as it wants to: an order to move that came before is withdrawn, if it may stay. */
static void stay(void)
{
    struct thread *thread = thread_current();
    struct group *group = thread->group;

    spin_lock(&group->lock);
    if ((thread->due & THREAD_DUE_MOVE) != 0 && cpu_mask_allows(thread->context.affinity, instance.kernel)) {
        thread_clear_due(thread, THREAD_DUE_MOVE);
        group_made_moves_locked(thread, instance.kernel);
    }
    spin_unlock(&group->lock);
    watch_event(&group->moves);
}

int migrate_thread(uint32_t kernel)
{
    if (kernel == instance.kernel)
        stay();
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
        return; /* it has left and come back, or the order has changed */
    spin_lock(&group->lock);
    if (thread->target == target) {
        thread_clear_due(thread, THREAD_DUE_MOVE);
        group_made_moves_locked(thread, instance.kernel);
    }
    spin_unlock(&group->lock);
    watch_event(&group->moves); /* wakes the thread that waits for the move */
}

/* Orders the move of thread TID for the balancer. False: it cannot move there now. */
static bool order(uint32_t tid, uint32_t kernel, bool drawn)
{
    struct thread *thread = thread_lock(tid);
    bool can;

    if (thread == NULL)
        return false;
    can = thread->presence == THREAD_PRESENT && !thread_dying(thread) && thread->group->pinned == NULL &&
          (thread->due & THREAD_DUE_MOVE) == 0 && cpu_mask_allows(thread->context.affinity, kernel) &&
          (!drawn || thread->context.chosen == 0);
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
