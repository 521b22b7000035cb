/* The end of groups. See the header and tasks/exit/exit.md.
 *
 * The home ends a group in two rounds. In the first, KILL, every member kernel stops its threads and replies when none
 * is left; from then on no CPU uses the group's page tables. Only in the second, FREE, does each kernel free its
 * frames, because other kernels may have mapped them until the end of the first round.
 *
 * The rounds run in a worker, or for exec in the calling thread, and may wait. Handlers do not wait: they keep the
 * request and reply later. */
#include "tasks/exit/exit.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/life/life.h"
#include "mm/space/space.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/exit/internal.h"
#include "tasks/family/end.h"
#include "tasks/futex/futex.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/role/adopted.h"
#include "tasks/signal/action_cache.h"
#include "tasks/signal/signal.h"
#include "tasks/timer/process/alarm.h"
#include "tasks/timer/process/process_timer.h"

static void check_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct group *group = context;
    struct msg_group_killed killed = {0};

    if (length < 0 && msg_peer_fenced(kernel)) { /* it has died, and its threads with it */
        __atomic_store_n(&group->process->lost_member, true, __ATOMIC_RELEASE);
        return;
    }
    if (length < 0) /* it says that it has no part of the group, which this kernel takes for true */
        log_line("tasks: kernel %u answered %d to the end of group %u", kernel, length, group->id);
    if (length == (int)sizeof(killed))
        memcpy(&killed, reply, sizeof(killed));
    spin_lock(&group->lock);
    group->gone_user_ns += killed.user_ns;
    group->gone_system_ns += killed.system_ns;
    account_use_add(&group->gone.use, &killed.use);
    spin_unlock(&group->lock);
}

/* Reply to GROUP_FREE. */
static void check_freed(void *context, uint32_t kernel, const void *reply, int length)
{
    struct group *group = context;
    struct msg_group_freed freed = {.peak = 0};

    if (length < 0 && msg_peer_fenced(kernel))
        return;     /* it has died, and its threads with it */
    if (length < 0) /* it says that it has no part of the group, which this kernel takes for true */
        log_line("tasks: kernel %u answered %d to the end of group %u", kernel, length, group->id);
    if (length == (int)sizeof(freed))
        memcpy(&freed, reply, sizeof(freed));
    spin_lock(&group->lock);
    account_io_add(&group->gone.io, &freed.io);
    group->peaks += freed.peak;
    spin_unlock(&group->lock);
}

/* Adds the peak of the memory that is about to be freed, by the end or by exec, to the statistics of the process. */
static void note_peak(struct group *group)
{
    uint64_t peak;

    spin_lock(&group->lock);
    peak = group->peaks + (group->pinned == NULL ? space_peak(group->space) : 0);
    group->peaks = 0;
    if (peak > group->process->peak)
        group->process->peak = peak;
    spin_unlock(&group->lock);
}

/* Both rounds over the other member kernels. Between the rounds this kernel's own threads die, down to quiet_count. */
static void end_elsewhere(struct group *group)
{
    struct msg_group message = {.group = group->id};
    struct wait_reason reason = {.what = "end of a group's threads here", .kernel = -1, .key = group->id};
    kernel_set others = 0;

    if (group->pinned == NULL)                                       /* a pinned space has the members of its host */
        others = group->space->members & ~(1ull << instance.kernel); /* no kernel joins a group that ends or prunes */
    msg_gather(others, MSG_GROUP_KILL, &message, sizeof(message), check_answer, group, "end of a group's threads",
               group->id);
    completion_wait(&group->quiet, &reason);
    if (__atomic_load_n(&group->process->lost_member, __ATOMIC_ACQUIRE) && group->pinned == NULL)
        futex_release_lost(group); /* now that no other thread can own what they held */
    if (group->process->pruning)
        futex_release_thread(true); /* before FREE: the words may be in any member's frames */
    msg_gather(others, MSG_GROUP_FREE, &message, sizeof(message), check_freed, group, "end of a group", group->id);
    note_peak(group);
}

void exit_leave_host(struct group *group)
{
    struct group *host;

    spin_lock(&group->lock);
    host = group->pinned;
    group->pinned = NULL;
    if (group->process->vfork_done != NULL)
        completion_signal(group->process->vfork_done);
    group->process->vfork_done = NULL;
    spin_unlock(&group->lock);
    if (host == NULL)
        return;
    group_unpin(host);
}

/* Releases everything that the group has besides its threads and its process. */
static void release(struct group *group)
{
    struct space *space;
    void *files;
    bool pins;

    spin_lock(&group->lock); /* observers such as /proc find no space and no files from now on */
    space = group->space;
    files = group->files;
    pins = group->pinned != NULL;
    group->space = NULL;
    group->files = NULL;
    spin_unlock(&group->lock);
    if (files != NULL)
        group_hooks.release_files(files);
    if (!pins)
        space_destroy(space);
    adopted_forget_group(group->id);
    exit_leave_host(group);
}

void exit_run(struct work *work)
{
    struct group *group = container_of(work, struct group, work);

    end_elsewhere(group);
    futex_forget_all_robust(group);
    release(group);
    alarm_end(group);
    process_timers_end(group, true);
    process_ended(group);
    group_put(group);
}

int exit_others(void)
{
    struct thread *self = thread_current();
    struct group *group = self->group;
    struct process *process = group->process;
    bool end;

    spin_lock(&group->lock);
    if (group->exiting || process->pruning || self->doomed) {
        spin_unlock(&group->lock);
        return -EAGAIN;
    }
    process->pruning = true;
    action_cache_changed(group->id); /* doomed threads are to ask */
    completion_init(&group->quiet);
    group->quiet_count = 1;
    if (group->count == 1)
        completion_signal(&group->quiet);
    list_for_each(node, &group->threads) {
        struct thread *thread = container_of(node, struct thread, group_node);

        if (thread == self)
            continue;
        thread->doomed = 1;
        kill_thread_locked(thread);
    }
    spin_unlock(&group->lock);
    end_elsewhere(group);
    spin_lock(&group->lock);
    process->pruning = false;
    process->live = 1;
    completion_init(&group->quiet);
    group->quiet_count = 0;
    end = group->exiting;
    process->replacing = !end;
    self->visited = 1ull << instance.kernel;
    if (group->pinned == NULL) {
        spin_lock(&group->space->lock);
        group->space->members = 1ull << instance.kernel;
        spin_unlock(&group->space->lock);
    }
    spin_unlock(&group->lock);
    if (end) { /* kill_begin was called meanwhile and left the end to this thread */
        group_hooks.ending();
        group_get(group);
        work_submit(&group->work);
        return -EAGAIN;
    }
    futex_forget_all_robust(group);
    adopted_forget_group(group->id);
    signal_mask_changed(self); /* signals of the group may have been assigned to the threads that died */
    return 0;
}

static void handle_group_kill(const struct msg *m)
{
    const struct msg_group *message = m->data;
    struct group *group = group_find(message->group);
    bool answer = true;

    if (group == NULL || group->home != m->ticket.kernel) {
        msg_reply_error(&m->ticket, -EPROTO);
        if (group != NULL)
            group_put(group);
        return;
    }
    spin_lock(&group->lock);
    __atomic_store_n(&group->exiting, true, __ATOMIC_SEQ_CST);
    if (group->count > 0) {
        msg_keep(m, &group->kept, NULL);
        group->kill_waits = true;
        answer = false;
        kill_threads_locked(group);
    }
    spin_unlock(&group->lock);
    if (answer) {
        struct msg_group_killed killed;

        group_notify_killed(group, &killed);
        msg_reply(&m->ticket, &killed, sizeof(killed));
    }
    group_put(group);
}

static void run_free(struct work *work)
{
    struct group *group = container_of(work, struct group, work);
    struct msg_group_freed freed = {.io = group->gone.io, .peak = space_peak(group->space)};

    space_destroy(group->space);
    adopted_forget_group(group->id);
    group_forget(group);
    msg_kept_reply(&group->kept, &freed, sizeof(freed), group_kept_done);
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
    spin_lock(&group->lock);
    group->freeing = true;
    spin_unlock(&group->lock);
    msg_keep(m, &group->kept, NULL);
    group->work.run = run_free; /* a worker, because it may take long; it owns the reference taken above */
    work_submit(&group->work);
}

void exit_init(void)
{
    exit_threads_init();
    msg_register(MSG_GROUP_KILL, handle_group_kill, sizeof(struct msg_group), sizeof(struct msg_group_killed));
    msg_register(MSG_GROUP_FREE, handle_group_free, sizeof(struct msg_group), sizeof(struct msg_group_freed));
}
