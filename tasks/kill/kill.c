/* How an end begins. See the header. */
#include "tasks/kill/kill.h"

#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/kill/wire.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/sched/sched.h"

/* THREAD has to look: a shadow wakes to die, a wait that may be ended ends, a running thread passes the check on the
 * way to user mode. A thread that is leaving dies when its answer comes; one that is coming back is here before it
 * dies, for it has its state, and what it holds, to give up. */
void kill_thread_locked(struct thread *thread)
{
    if (thread->presence == THREAD_SHADOW && thread->disposition == DISPOSITION_NONE) {
        thread->disposition = DISPOSITION_EXIT;
        sched_wake(thread);
    } else {
        sched_kick(thread);
    }
}

void kill_threads_locked(struct group *group)
{
    list_for_each(node, &group->threads)
        kill_thread_locked(container_of(node, struct thread, group_node));
}

/* Home: the group is to end. The rest is done by a worker, which may wait. KILLED: even while exec prunes it; what the
 * old program's threads did themselves ends nothing then, for they are doomed. */
void kill_begin(struct group *group, uint32_t status, bool killed)
{
    bool first;

    spin_lock(&group->lock);
    first = !group->exiting && (killed || !group->process->pruning);
    if (first) {
        __atomic_store_n(&group->exiting, true, __ATOMIC_SEQ_CST);
        group->process->status = status;
        group->work.run = exit_run;
        if (!group->process->pruning) { /* else the thread that prunes waits, and leads the end afterwards */
            group->quiet_count = 0;
            if (group->count == 0)
                completion_signal(&group->quiet);
        }
        kill_threads_locked(group);
        first = !group->process->pruning;
    }
    spin_unlock(&group->lock);
    if (first) {
        group_hooks.ending();
        group_get(group); /* the work's */
        work_submit(&group->work);
    }
}

/* A group that is still being made has no thread yet and is not to be ended by others; one that has none any more is
 * ending already. */
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

    while (!thread_dying(thread_current())) /* away from home: until GROUP_KILL comes */
        sched_block(NULL, &reason, WAIT_KILLABLE, 0);
    exit_killed();
}

static _Noreturn void end_own_group(uint32_t status, bool killed)
{
    struct group *group = thread_current()->group;
    struct msg_group_exit message = {.group = group->id, .status = status, .killed = killed ? 1 : 0};
    static const struct msg_policy sure = {.end = WAIT_FIRM, .sure = true};

    if (group->home == instance.kernel)
        end_from_here(group, status, killed);
    /* Waits, so that the word is there before the thread is gone: behind exec it would end the new program. */
    else if (msg_call_within(&sure, group->home, MSG_GROUP_EXIT, &message, sizeof(message), NULL, 0, "word of an end",
                             group->id) < 0)
        panic("tasks: no memory to tell the home of the end of group %u", group->id);
    exit_when_killed();
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

    if (group != NULL) { /* else it has ended meanwhile */
        end_from_here(group, message->status, message->killed != 0);
        group_put(group);
    }
    msg_reply(&m->ticket, NULL, 0);
}

void kill_init(void)
{
    msg_register(MSG_GROUP_EXIT, handle_group_exit, sizeof(struct msg_group_exit), 0);
}
