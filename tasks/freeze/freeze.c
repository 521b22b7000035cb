/* Quiescing. See the header.
 *
 * A dying thread is not quiesced, because the end of its group has to finish before the kernel is quiet. A thread whose
 * wait only its death can end (the parent of a vfork, a stopped process) counts as quiesced. */
#include "tasks/freeze/freeze.h"

#include "msg/quiet.h"
#include "msg/slice.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/due.h"
#include "tasks/sched/waitq.h"
#include "tasks/thread/walk.h"
#include "tasks/timer/timer.h"

#define LOOK_AT_ONCE 128u /* threads and groups, in a handler */
#define WAKE_AT_ONCE 64u  /* threads */

void (*freeze_over)(void);

static struct spinlock lock;
static volatile enum freeze_mode { GOING, FROZEN, CALLS } mode; /* written under the lock */
static struct waitq standing;                                   /* [k] lock */
static uint32_t standing_count; /* [k] lock: threads in `standing`, or woken and yet to run */

void freeze_init(void)
{
    waitq_init(&standing);
}

bool freeze_active(void)
{
    return mode != GOING;
}

void freeze_begin(void)
{
    struct freeze_state state;

    spin_lock(&lock);
    mode = FROZEN;
    spin_unlock(&lock);
    timer_hold(true);
    freeze_look(&state);
}

/* Changes the mode to TO, and wakes the threads that stand, in slices. Those that stand again are behind them. */
static void release(enum freeze_mode to)
{
    uint32_t left;

    spin_lock(&lock);
    mode = to;
    for (left = standing_count; left > WAKE_AT_ONCE; left -= WAKE_AT_ONCE) {
        waitq_wake_some(&standing, WAKE_AT_ONCE);
        spin_unlock(&lock);
        slice_check();
        spin_lock(&lock);
    }
    waitq_wake_some(&standing, left);
    spin_unlock(&lock);
}

void freeze_end(void)
{
    release(GOING);
    timer_hold(false);
    freeze_over();
}

void freeze_calls(void)
{
    release(CALLS);
}

/* THREAD's system call was interrupted by the freeze, and may restart before the freeze ends. */
static bool may_pass(const struct thread *thread)
{
    return mode == CALLS && thread->context.interrupted != 0 && (thread->due & THREAD_DUE_SIGNAL) == 0;
}

void freeze_quiesce(struct thread *thread)
{
    static const struct wait_reason reason = {.what = "end of a freeze", .kernel = -1};

    slice_check(); /* thousands of threads may quiesce, one after the other */
    spin_lock(&lock);
    while (mode != GOING && !may_pass(thread) && !thread_dying(thread)) {
        thread->frozen = true;
        standing_count++;
        waitq_wait(&standing, &lock, &reason, WAIT_KILLABLE, 0);
        standing_count--;
    }
    thread->frozen = false;
    if (mode != FROZEN)
        thread_clear_due(thread, THREAD_DUE_FREEZE | THREAD_DUE_PASSED);
    if (mode == CALLS) /* the thread quiesces again when the call has returned */
        __atomic_fetch_or(&thread->due, THREAD_DUE_PASSED, __ATOMIC_SEQ_CST);
    spin_unlock(&lock);
}

/* Whether THREAD is quiesced; otherwise it is made to quiesce. One that is blocks, so that sched_woken tells when it
 * goes on. The group's lock is held. */
static bool at_rest_locked(struct thread *thread)
{
    enum wait_end end;
    bool waits = sched_waits(thread, &end);

    if (thread->presence == THREAD_SHADOW)
        return waits && thread->disposition == DISPOSITION_NONE;
    if (thread->presence == THREAD_LEAVING)
        return false;
    if (thread->frozen)
        return waits && !may_pass(thread); /* a thread that may pass has been woken but has not run yet */
    if (waits && end == WAIT_KILLABLE)
        return true;
    if (mode == CALLS) /* its restarted call waits again, or is still on its way there */
        return waits && end == WAIT_INTERRUPTIBLE;
    thread_set_due(thread, THREAD_DUE_FREEZE);
    return false;
}

/* Whether GROUP, whose home this is, begins, ends or is in exec. A stop that waits for a thread here is no message, and
 * may wait as long as the thread does, in vfork. A process whose memory is left to its pins stays so
 * until one of these goes on (tasks/exit/exit.md). */
static bool ends_at_home(const struct group *group)
{
    const struct process *process = group->process;

    return !process->zombie && !process->is_pinned && (group->exiting || process->pruning || process->live == 0);
}

/* Whether the stop that waits for threads of a group here goes on without the end of THREAD: it may wait as long as a
 * thread does, in vfork. */
static bool stop_goes_on(const struct thread *thread)
{
    bool waits = thread->state == THREAD_BLOCKED && thread->wait_end == WAIT_KILLABLE && !thread->frozen;

    return thread->presence == THREAD_LEAVING || (thread->presence == THREAD_PRESENT && !thread->quiesced && !waits);
}

/* Whether GROUP, whose home is elsewhere, ends. One that has answered GROUP_KILL waits for its
 * home, which tells whether it goes on. */
static bool ends_here(const struct group *group)
{
    return group->exiting && (group->kill_waits || group->freeing || group->count > 0);
}

struct look {
    struct freeze_state *state;
    bool stop_goes_on; /* of one of the threads that have been looked at */
};

static void look_at_thread_locked(struct thread *thread, void *context)
{
    struct look *look = context;

    look->state->moving += !at_rest_locked(thread);
    look->stop_goes_on |= stop_goes_on(thread);
}

static bool look_at(struct group *group, void *context)
{
    struct freeze_state *state = context;
    const struct process *process = group->process;
    struct look look = {.state = state};
    bool ends, answers;

    slice_check();
    group_each_thread(group, look_at_thread_locked, &look);
    spin_lock(&group->lock);
    ends = group->joining || (process != NULL ? ends_at_home(group) : ends_here(group));
    answers = process == NULL && group->stop_waits && look.stop_goes_on;
    spin_unlock(&group->lock);
    state->ending += ends || answers ? 1 : 0;
    return true;
}

bool freeze_look_is_long(void)
{
    struct thread_counts counts;

    thread_counts(&counts);
    return counts.threads + group_total() > LOOK_AT_ONCE;
}

/* In the middle of this, threads may run, and messages be taken. What has gone on behind the look shows in EVENTS of
 * the next one, because they are read first; all else is read last. A timer's function may submit work, and work send a
 * request: so they are read in this order. */
void freeze_look(struct freeze_state *state)
{
    *state = (struct freeze_state){.events = msg_taken() + sched_woken()};
    group_each(look_at, state);
    state->working = timer_firing() ? 1 : 0;
    state->working += work_busy();
    state->unanswered = msg_unanswered();
}

struct drain {
    uint32_t successor;
    uint32_t present;
};

static void send_away_locked(struct thread *thread, uint32_t successor)
{
    int64_t kernel;

    if ((thread->due & THREAD_DUE_MOVE) != 0 || thread->group->pinned != NULL || thread_dying(thread))
        return;
    kernel = cpu_mask_nearest_other(thread->context.affinity);
    if (kernel < 0) { /* as Linux does when the last CPU that a thread may use goes offline */
        cpu_mask_all(thread->context.affinity);
        kernel = successor;
    }
    thread_order_move_locked(thread, (uint32_t)kernel);
}

static bool drain_group(struct group *group, void *context)
{
    struct drain *drain = context;

    slice_check();
    spin_lock(&group->lock);
    list_for_each(node, &group->threads) {
        struct thread *thread = container_of(node, struct thread, group_node);

        if (thread->presence == THREAD_SHADOW && thread->disposition == DISPOSITION_NONE)
            continue;
        drain->present++;
        if (thread->presence == THREAD_PRESENT)
            send_away_locked(thread, drain->successor);
    }
    spin_unlock(&group->lock);
    return true;
}

uint32_t freeze_drain(uint32_t successor)
{
    struct drain drain = {.successor = successor};

    group_each(drain_group, &drain);
    return drain.present;
}
