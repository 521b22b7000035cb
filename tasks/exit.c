/* The end of threads and groups. See the header and tasks/exit.md.
 *
 * A group ends in two rounds led by its home: KILL makes every member kernel stop its threads and answers when none is
 * left, so that no CPU uses the group's tables any more; only then FREE lets every kernel give back its frames, which
 * others may have mapped until the end of the first round. */
#include "tasks/exit.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "mm/heap.h"
#include "msg/channel.h"
#include "tasks/sched.h"
#include "tasks/wire.h"

static void run_end(struct work *work);
static void run_free(struct work *work);

/* Every thread here has to look: shadows wake to die, waits that may be interrupted end, running ones pass the check on
 * the way to user mode. A thread that is leaving dies when its answer comes. */
static void kick_threads_locked(struct group *group)
{
    list_for_each(node, &group->threads) {
        struct thread *thread = container_of(node, struct thread, group_node);

        if (thread->presence == THREAD_SHADOW) {
            thread->disposition = DISPOSITION_EXIT;
            sched_wake(thread);
        } else {
            sched_kick(thread);
        }
    }
}

/* Home: the group is to end. The rest is done by a worker, which may wait. */
static void begin_end(struct group *group, uint32_t status)
{
    bool first;

    spin_lock(&group->lock);
    first = !group->exiting;
    if (first) {
        __atomic_store_n(&group->exiting, true, __ATOMIC_SEQ_CST);
        group->status = status;
        group->work.run = run_end;
        if (group->count == 0)
            completion_signal(&group->quiet);
        kick_threads_locked(group);
    }
    spin_unlock(&group->lock);
    if (first) {
        group_hooks.ending();
        group_get(group); /* the work's */
        work_submit(&group->work);
    }
}

/* Home: as begin_end, for a kill. A group that is still being made has no thread yet and is not to be ended by others;
 * one that has none any more is ending already. */
static void end_started(struct group *group, uint32_t status)
{
    bool started;

    spin_lock(&group->lock);
    started = group->live > 0;
    spin_unlock(&group->lock);
    if (started)
        begin_end(group, status);
}

static void tell_parent(struct group *group)
{
    struct group *parent = group->parent;

    spin_lock(&parent->lock);
    list_for_each(node, &parent->children) {
        struct child *child = container_of(node, struct child, node);

        if (child->id == group->id) {
            child->status = group->status;
            child->ended = true;
        }
    }
    waitq_wake_all(&parent->child_wait);
    spin_unlock(&parent->lock);
    group_put(parent);
}

static void check_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct group *group = context;

    (void)reply;
    if (length < 0)
        panic("tasks: kernel %u answered %d to the end of group %u", kernel, length, group->id);
}

static void run_end(struct work *work)
{
    struct group *group = container_of(work, struct group, work);
    struct msg_group message = {.group = group->id};
    struct wait_reason reason = {.what = "end of a group's threads here", .kernel = -1, .key = group->id};
    kernel_set others = group->space->members & ~(1ull << instance.kernel); /* nobody joins an exiting group */

    msg_gather(others, MSG_GROUP_KILL, &message, sizeof(message), check_answer, group, "end of a group's threads",
               group->id);
    completion_wait(&group->quiet, &reason);
    msg_gather(others, MSG_GROUP_FREE, &message, sizeof(message), check_answer, group, "end of a group", group->id);
    if (group->files != NULL)
        group_hooks.release_files(group->files);
    space_destroy(group->space);
    group_forget(group);
    if (group->parent != NULL)
        tell_parent(group);
    else
        group_hooks.first_ended(group->status);
    group_put(group);
}

/* Home: one thread less; with the last one the group ends. */
static void count_down(struct group *group, uint32_t tid, uint32_t status)
{
    bool last;

    spin_lock(&group->lock);
    if (tid == group->id)
        group->leader_status = status;
    last = --group->live == 0;
    status = group->leader_status;
    spin_unlock(&group->lock);
    if (last)
        begin_end(group, status);
}

void exit_killed(void)
{
    sched_die();
}

void exit_group_other(struct group *group, uint32_t status)
{
    struct msg_group_exit message = {.group = group->id, .status = status};

    if (group->home == instance.kernel)
        end_started(group, status);
    else
        msg_notify(group->home, MSG_GROUP_EXIT, &message, sizeof(message));
}

void exit_group(uint32_t status)
{
    struct group *group = thread_current()->group;
    static const struct wait_reason reason = {.what = "own end", .kernel = -1};

    exit_group_other(group, status);
    while (!group_exiting(group)) /* away from home: until GROUP_KILL comes */
        sched_block(NULL, &reason, WAIT_KILLABLE, 0);
    exit_killed();
}

void exit_thread(uint32_t code)
{
    struct thread *thread = thread_current();
    struct group *group = thread->group;
    struct msg_thread message = {.group = group->id, .thread = thread->tid, .status = EXIT_STATUS(code)};
    uint32_t zero = 0;

    if (thread->context.clear_child_tid != 0)
        /* the program's own business if it cannot be written */
        user_write(thread->context.clear_child_tid, &zero, sizeof(zero));
    for (kernel_set rest = thread->visited & ~(1ull << instance.kernel); rest != 0; rest &= rest - 1)
        msg_notify((uint32_t)__builtin_ctzll(rest), MSG_THREAD_GONE, &message, sizeof(message));
    if (group->home == instance.kernel)
        count_down(group, thread->tid, message.status);
    else
        msg_notify(group->home, MSG_THREAD_EXIT, &message, sizeof(message));
    sched_die();
}

/* A reference to the group was kept with the request. */
static void kept_done(struct msg_kept *kept)
{
    group_put(container_of(kept, struct group, kept));
}

void exit_reap(struct thread *thread)
{
    struct group *group = thread->group;
    bool answer = false;

    if (group != NULL) {
        group_get(group);
        spin_lock(&group->lock);
        list_remove(&thread->group_node);
        thread_forget(thread); /* a handler may look for it as soon as the lock is free */
        if (--group->count == 0 && group->exiting) {
            answer = group->kill_waits;
            group->kill_waits = false;
            if (group->home == instance.kernel)
                completion_signal(&group->quiet);
        }
        spin_unlock(&group->lock);
    }
    thread_free(thread);
    if (answer)
        msg_kept_reply(&group->kept, NULL, 0, kept_done); /* the reference taken above is the answer's */
    else if (group != NULL)
        group_put(group);
}

static void handle_group_exit(const struct msg *m)
{
    const struct msg_group_exit *message = m->data;
    struct group *group = group_find(message->group);

    if (group == NULL)
        return; /* it has ended meanwhile */
    if (group->home == instance.kernel)
        end_started(group, message->status);
    group_put(group);
}

static void handle_thread_exit(const struct msg *m)
{
    const struct msg_thread *message = m->data;
    struct group *group = group_find(message->group);

    if (group == NULL)
        return;
    if (group->home == instance.kernel)
        count_down(group, message->thread, message->status);
    group_put(group);
}

static void handle_thread_gone(const struct msg *m)
{
    const struct msg_thread *message = m->data;
    struct group *group = group_find(message->group);
    struct thread *thread;

    if (group == NULL)
        return;
    spin_lock(&group->lock);
    thread = thread_find(message->thread);
    if (thread != NULL && thread->group == group && thread->presence != THREAD_PRESENT) {
        thread->disposition = DISPOSITION_EXIT;
        sched_wake(thread);
    }
    spin_unlock(&group->lock);
    group_put(group);
}

static void handle_group_kill(const struct msg *m)
{
    const struct msg_group *message = m->data;
    struct group *group = group_find(message->group);
    bool answer = true;

    if (group == NULL) {
        /* A member that has not arrived yet: the tombstone makes its migration fail. */
        group = group_create(message->group, m->ticket.kernel, false);
        if (group == NULL) {
            msg_reply_error(&m->ticket, -ENOMEM);
            return;
        }
        group_get(group);
    }
    if (group->home != m->ticket.kernel) {
        msg_reply_error(&m->ticket, -EPROTO);
        group_put(group);
        return;
    }
    spin_lock(&group->lock);
    __atomic_store_n(&group->exiting, true, __ATOMIC_SEQ_CST);
    if (group->count > 0) {
        msg_keep(m, &group->kept, NULL);
        group->kill_waits = true;
        answer = false;
        kick_threads_locked(group);
    }
    spin_unlock(&group->lock);
    if (answer)
        msg_reply(&m->ticket, NULL, 0);
    group_put(group);
}

static void run_free(struct work *work)
{
    struct group *group = container_of(work, struct group, work);

    if (group->space != NULL)
        space_destroy(group->space);
    group_forget(group);
    msg_kept_reply(&group->kept, NULL, 0, kept_done);
}

static void handle_group_free(const struct msg *m)
{
    const struct msg_group *message = m->data;
    struct group *group = group_find(message->group);

    if (group == NULL || group->home != m->ticket.kernel || !group->exiting || group->count != 0) {
        msg_reply_error(&m->ticket, -EPROTO);
        if (group != NULL)
            group_put(group);
        return;
    }
    msg_keep(m, &group->kept, NULL);
    group->work.run = run_free; /* many frames take long: not here. The reference taken above is the work's. */
    work_submit(&group->work);
}

void exit_init(void)
{
    msg_register(MSG_GROUP_EXIT, handle_group_exit, sizeof(struct msg_group_exit), 0);
    msg_register(MSG_THREAD_EXIT, handle_thread_exit, sizeof(struct msg_thread), 0);
    msg_register(MSG_THREAD_GONE, handle_thread_gone, sizeof(struct msg_thread), 0);
    msg_register(MSG_GROUP_KILL, handle_group_kill, sizeof(struct msg_group), 0);
    msg_register(MSG_GROUP_FREE, handle_group_free, sizeof(struct msg_group), 0);
}
