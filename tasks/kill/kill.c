/* The beginning of the end of a group or thread. See the header, and tasks/exit/exit.md for the protocol.
 *
 * At the home, group->lock orders ends against exec, which removes all threads but one, and `exiting` is set only once.
 * Any kernel may begin an end at the same time. */
#include "tasks/kill/kill.h"

#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "tasks/kill/wire.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/walk.h"

#define KILLED_AT_ONCE 64u

/* Makes THREAD check whether it is to die. A shadow wakes in order to die, a killable wait ends, and a running thread
 * is interrupted and checks on its way to user mode. A LEAVING thread dies when the target's reply has arrived. A
 * thread that is returning first becomes PRESENT and then dies, because it has to release its locks and its state. */
void kill_thread_locked(struct thread *thread)
{
    if (thread->presence == THREAD_SHADOW && thread->disposition == DISPOSITION_NONE) {
        thread->disposition = DISPOSITION_EXIT;
        sched_wake(thread);
    } else {
        sched_kick(thread);
    }
}

/* Kills the first threads, up to KILLED_AT_ONCE. False: there are no more. */
static bool kill_first_locked(struct group *group)
{
    uint32_t left = KILLED_AT_ONCE;

    list_for_each(node, &group->threads) {
        if (left-- == 0)
            return true;
        kill_thread_locked(container_of(node, struct thread, group_node));
    }
    return false;
}

static void kill_met_locked(struct thread *thread, void *context)
{
    (void)context;
    kill_thread_locked(thread);
}

void kill_threads(struct group *group)
{
    group_each_thread(group, kill_met_locked, NULL);
}

static void run_kill(struct work *work)
{
    struct group *group = container_of(work, struct group, kill_work);

    spin_lock(&group->lock);
    group->kill_submitted = false;
    spin_unlock(&group->lock);
    kill_threads(group);
    group_put(group);
}

void kill_threads_soon(struct group *group)
{
    bool submit;

    spin_lock(&group->lock);
    submit = kill_first_locked(group) && !group->kill_submitted;
    group->kill_submitted |= submit;
    if (submit)
        group->kill_work = (struct work){.run = run_kill};
    spin_unlock(&group->lock);
    if (!submit)
        return;
    group_get(group);
    work_submit(&group->kill_work);
}

/* At the home. A worker does the rest, because it has to wait for other kernels. Without KILLED the call has no effect
 * while exec is removing the other threads: it comes from one of these threads, which are about to die anyway. */
void kill_begin(struct group *group, uint32_t status, bool killed)
{
    bool begins, pruning;

    spin_lock(&group->lock);
    pruning = group->process->pruning;
    begins = !group->exiting && (killed || !pruning);
    if (begins) {
        __atomic_store_n(&group->exiting, true, __ATOMIC_SEQ_CST);
        group->process->status = status;
        group->work.run = exit_run;
        group->work.rank = WORK_ENDS;
        if (!pruning) { /* otherwise the thread in exec begins the end when it is done */
            group->quiet_count = 0;
            if (group->count == 0)
                completion_signal(&group->quiet);
        }
    }
    spin_unlock(&group->lock);
    if (!begins)
        return;
    kill_threads_soon(group); /* while exec prunes, the thread in exec, too, which is anywhere among them */
    if (!pruning) {
        group_hooks.ending();
        group_get(group); /* owned by the work item */
        work_submit(&group->work);
    }
}

/* Ignores a group that is still being made, which other processes cannot end yet, and one without live threads, which
 * is ending already. */
static void end_from_here(struct group *group, uint32_t status, bool killed)
{
    bool started;

    if (group->process == NULL)
        return;
    spin_lock(&group->lock);
    started = group->process->live > 0;
    spin_unlock(&group->lock);
    if (started)
        kill_begin(group, status, killed);
}

void exit_group_other(struct group *group, uint32_t status)
{
    end_from_here(group, status, true);
}

void exit_when_killed(void)
{
    static const struct wait_reason reason = {.what = "own end", .kernel = -1};

    while (!thread_dying(thread_current())) /* away from the home: until GROUP_KILL has arrived */
        sched_block(NULL, &reason, WAIT_KILLABLE, 0);
    exit_killed();
}

/* Ends GROUP at its home, or has the home end it. Waits for the reply, so that the request cannot arrive after exec has
 * finished: it would end the new program. */
static int end_at_home(struct group *group, uint32_t status, bool killed)
{
    struct msg_group_exit message = {.group = group->id, .status = status, .killed = killed ? 1 : 0};
    static const struct msg_policy sure = {.end = WAIT_FIRM, .sure = true};

    if (group->home != instance.kernel)
        return msg_call_within(&sure, group->home, MSG_GROUP_EXIT, &message, sizeof(message), NULL, 0, "word of an end",
                               group->id);
    end_from_here(group, status, killed);
    return 0;
}

int exit_group_from(struct group *group, uint32_t status)
{
    return end_at_home(group, status, true);
}

static _Noreturn void end_own_group(uint32_t status, bool killed)
{
    struct group *group = thread_current()->group;

    int error = end_at_home(group, status, killed);

    if (error < 0 && msg_peer_reachable(group->home)) /* the thread then waits until somebody else ends the group */
        log_line("tasks: the home of group %u answered %d to its end", group->id, error);
    exit_when_killed(); /* if the home has died, tasks/exit/lost.c ends the group */
}

void exit_group(uint32_t status)
{
    end_own_group(status, false);
}

void exit_group_killed(uint32_t status)
{
    end_own_group(status, true);
}

static void handle_group_exit(const struct msg *m)
{
    const struct msg_group_exit *message = m->data;
    struct group *group = group_find(message->group);

    if (group != NULL) { /* otherwise it has ended already */
        end_from_here(group, message->status, message->killed != 0);
        group_put(group);
    }
    msg_reply(&m->ticket, NULL, 0);
}

void kill_init(void)
{
    msg_register(MSG_GROUP_EXIT, handle_group_exit, sizeof(struct msg_group_exit), 0);
}
