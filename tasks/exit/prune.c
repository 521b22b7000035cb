/* Exec, which reduces a group to the thread that calls it. See tasks/exit/exit.h and tasks/exit/exit.md. The rounds are
 * those of the end of a group (exit.c); the calling thread runs them. */
#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/instance/instance.h"
#include "mm/space/space.h"
#include "tasks/exit/exit.h"
#include "tasks/exit/internal.h"
#include "tasks/futex/futex.h"
#include "tasks/process/process.h"
#include "tasks/process/vfork.h"
#include "tasks/remote/work.h"
#include "tasks/role/adopted.h"
#include "tasks/signal/action_cache.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/walk.h"

/* In exec, whose rounds are over, or not to go on: GROUP is as any, with one thread. FREED: this kernel is its only
 * member. -EAGAIN: a kill has left the end to this thread, which has it begin and is to die. */
static int end_pruning(struct group *group, bool freed)
{
    struct process *process = group->process;
    bool end;

    spin_lock(&group->lock);
    process->pruning = false;
    process->live = 1;
    completion_init(&group->quiet);
    group->quiet_count = 0;
    end = group->exiting;
    group->freeing = freed && !end;
    group->lost = group->lost && !freed; /* with the old memory */
    process->is_quiet = !freed;
    thread_current()->visited = 1ull << instance.kernel;
    if (group->pinned == NULL && freed) {
        spin_lock(&group->space->lock);
        group->space->members = 1ull << instance.kernel;
        spin_unlock(&group->space->lock);
    }
    spin_unlock(&group->lock);
    if (!end)
        return 0;
    group_hooks.ending();
    group_get(group);
    work_submit(&group->work);
    return -EAGAIN;
}

static void doom_other_locked(struct thread *thread, void *context)
{
    (void)context;
    if (thread == thread_current())
        return;
    thread->doomed = 1;
    kill_thread_locked(thread);
}

/* Dooms the other threads here, in slices: who has not been met runs on for that long, but adds no thread, and is
 * doomed when it comes here. 1: none is left, as this is called again. -EAGAIN: GROUP is ending, or another thread is
 * in exec. */
static int begin_pruning(struct group *group)
{
    struct thread *self = thread_current();
    struct process *process = group->process;
    bool again;

    spin_lock(&group->lock);
    again = process->pruning && process->is_quiet && !self->doomed;
    if (again || group->exiting || process->pruning || self->doomed) {
        if (!again && process->pruning)
            self->doomed = 1; /* as it is about to be: its program is not to see the error */
        spin_unlock(&group->lock);
        return again ? 1 : -EAGAIN;
    }
    process->pruning = true;
    action_cache_changed(group->id); /* doomed threads are to ask */
    completion_init(&group->quiet);
    group->quiet_count = 1;
    if (group->count == 1)
        completion_signal(&group->quiet);
    spin_unlock(&group->lock);
    group_each_thread(group, doom_other_locked, NULL);
    return 0;
}

int exit_others(void)
{
    struct group *group = thread_current()->group;
    int begun = begin_pruning(group), error;
    bool pinned, ends;

    if (begun < 0)
        return begun;
    if (begun == 0) {
        exit_kill_round(group);
        futex_release_thread(true); /* while revocations still reach the memory, in any member's frames */
    }
    spin_lock(&group->lock);
    pinned = group_has_pins_locked(group);
    ends = group->exiting;
    group->freeing = !pinned;
    spin_unlock(&group->lock);
    if (pinned && !ends)
        return -EINPROGRESS;
    if (!pinned)
        exit_free_round(group);
    error = end_pruning(group, !pinned);
    if (error != 0)
        return error;
    futex_forget_all_robust(group);
    adopted_forget_group(group->id);
    signal_mask_changed(thread_current()); /* signals of the group may have been assigned to the threads that died */
    return 0;
}

void exit_others_wait(void)
{
    static const struct wait_reason reason = {.what = "end or exec of a child (vfork)", .kernel = -1};
    struct group *group = thread_current()->group;
    bool pinned;

    spin_lock(&group->lock);
    completion_init(&group->quiet);
    pinned = group->process->is_pinned = group_has_pins_locked(group);
    group->freeing = !pinned; /* as the last pin does: no new one begins before the caller looks again */
    spin_unlock(&group->lock);
    if (!pinned)
        return;
    vfork_wait(&group->quiet, &reason);
    spin_lock(&group->lock);
    group->process->is_pinned = false;
    spin_unlock(&group->lock);
}

void exit_others_fail(void)
{
    struct group *group = thread_current()->group;

    if (!group->process->pruning) /* exit_others has seen that it is to end */
        return;
    exit_group_other(group, EXIT_SIGNAL(SIGKILL));
    end_pruning(group, false);
}
