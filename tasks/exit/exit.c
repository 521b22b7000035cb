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
#include "mm/change/again.h"
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

/* The two rounds of a group. */
struct rounds {
    struct group *group;
    kernel_set left; /* members that still have a part of it */
};

/* KERNEL has no part of the group, whatever it has answered: LENGTH is an error, unless it has died with its threads.
 */
static void note_error(struct rounds *rounds, uint32_t kernel, int length)
{
    rounds->left &= ~(1ull << kernel);
    if (msg_peer_fenced(kernel))
        __atomic_store_n(&rounds->group->process->lost_member, true, __ATOMIC_RELEASE);
    else
        log_line("tasks: kernel %u answered %d to the end of group %u", kernel, length, rounds->group->id);
}

static void add_killed(struct group *group, const struct msg_group_killed *killed)
{
    spin_lock(&group->lock);
    group->gone_user_ns += killed->user_ns;
    group->gone_system_ns += killed->system_ns;
    account_use_add(&group->gone.use, &killed->use);
    spin_unlock(&group->lock);
}

static void add_freed(struct group *group, const struct msg_group_freed *freed)
{
    spin_lock(&group->lock);
    account_io_add(&group->gone.io, &freed->io);
    group->peaks += freed->peak;
    spin_unlock(&group->lock);
}

static void unpack_ended(const struct msg_group_ended *ended, struct msg_group_killed *killed,
                         struct msg_group_freed *freed)
{
    *killed = (struct msg_group_killed){
        ended->user_ns,
        ended->system_ns,
        {ended->minor_faults, ended->major_faults, ended->waits, ended->preemptions},
    };
    *freed = (struct msg_group_freed){{ended->read_bytes, ended->write_bytes, ended->reads, ended->writes}, 0, 0};
}

/* False: the figures do not fit. */
static bool pack_ended(const struct msg_group_killed *killed, const struct msg_group_freed *freed,
                       struct msg_group_ended *ended)
{
    struct msg_group_killed killed_again;
    struct msg_group_freed freed_again;

    *ended = (struct msg_group_ended){.user_ns = killed->user_ns,
                                      .reads = freed->io.reads,
                                      .ended = 1,
                                      .system_ns = killed->system_ns,
                                      .writes = freed->io.writes,
                                      .minor_faults = (uint32_t)killed->use.minor_faults,
                                      .major_faults = (uint32_t)killed->use.major_faults,
                                      .waits = (uint32_t)killed->use.waits,
                                      .preemptions = (uint32_t)killed->use.preemptions,
                                      .read_bytes = freed->io.read_bytes,

                                      .write_bytes = freed->io.write_bytes};
    unpack_ended(ended, &killed_again, &freed_again);
    return memcmp(killed, &killed_again, sizeof(*killed)) == 0 && memcmp(freed, &freed_again, sizeof(*freed)) == 0;
}

/* Reply to GROUP_KILL: a struct msg_group_killed, or a struct msg_group_ended. */
static void check_killed(void *context, uint32_t kernel, const void *reply, int length)
{
    struct rounds *rounds = context;
    struct msg_group_ended ended;
    struct msg_group_killed killed;
    struct msg_group_freed freed;

    if (length != (int)sizeof(ended)) {
        note_error(rounds, kernel, length);
        return;
    }
    memcpy(&ended, reply, sizeof(ended));
    memcpy(&killed, reply, sizeof(killed));
    if (ended.ended != 0) {
        rounds->left &= ~(1ull << kernel);
        unpack_ended(&ended, &killed, &freed);
        add_freed(rounds->group, &freed);
    }
    add_killed(rounds->group, &killed);
}

/* Reply to GROUP_FREE. */
static void check_freed(void *context, uint32_t kernel, const void *reply, int length)
{
    struct rounds *rounds = context;
    struct msg_group_freed freed;

    if (length != (int)sizeof(freed)) {
        note_error(rounds, kernel, length);
        return;
    }
    memcpy(&freed, reply, sizeof(freed));
    add_freed(rounds->group, &freed);
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

/* Both rounds over the other member kernels, the second one over those that have memory to free. Between the rounds
 * this kernel's own threads die, down to quiet_count. */
static void end_elsewhere(struct group *group)
{
    struct msg_group message = {.group = group->id};
    struct wait_reason reason = {.what = "end of a group's threads here", .kernel = -1, .key = group->id};
    struct rounds rounds = {.group = group};

    if (group->pinned == NULL) /* a pinned space has the members of its host */
        rounds.left = group->space->members &
                      ~(1ull << instance.kernel); /* no kernel joins a group that ends or prunes */
    msg_gather(rounds.left, MSG_GROUP_KILL, &message, sizeof(message), check_killed, &rounds,
               "end of a group's threads", group->id);
    completion_wait(&group->quiet, &reason);
    if (__atomic_load_n(&group->process->lost_member, __ATOMIC_ACQUIRE) && group->pinned == NULL)
        futex_release_lost(group); /* now that no other thread can own what they held */
    if (group->process->pruning)
        futex_release_thread(true); /* before FREE: the words may be in any member's frames */
    msg_gather(rounds.left, MSG_GROUP_FREE, &message, sizeof(message), check_freed, &rounds, "end of a group",
               group->id);
    note_peak(group);
}

/* space_outlives_task of mm/change/again.h. */
static bool has_host(void)
{
    const struct group *group = thread_current()->group;

    return group != NULL && group->pinned != NULL;
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

/* Frees what this kernel, a member, has of GROUP, and answers its kept request with ANSWER, of one slot. Consumes a
 * reference. */
static void end_member(struct group *group, const void *answer)
{
    space_destroy(group->space);
    adopted_forget_group(group->id);
    group_forget(group);
    msg_kept_reply(&group->kept, answer, MSG_SHORT, group_kept_done);
}

static void member_figures(struct group *group, struct msg_group_killed *killed, struct msg_group_freed *freed)
{
    group_notify_killed(group, killed);
    *freed = (struct msg_group_freed){.io = group->gone.io, .peak = space_peak(group->space)};
}

/* On a worker, as it waits: the space is retired, and the figures fit. */
static void run_ended(struct work *work)
{
    struct group *group = container_of(work, struct group, work);
    struct msg_group_killed killed;
    struct msg_group_freed freed;
    struct msg_group_ended ended;

    member_figures(group, &killed, &freed);
    pack_ended(&killed, &freed, &ended);
    end_member(group, &ended);
}

/* No thread of GROUP is left here, and its GROUP_KILL is kept: replies, after ending this kernel's part if it has no
 * memory to free. Consumes a reference. */
static void answer_killed(struct group *group)
{
    struct msg_group_killed killed;
    struct msg_group_freed freed = {.peak = 0};
    struct msg_group_ended ended;
    bool ends;

    spin_lock(&group->lock);
    ends = !group->freeing; /* else the home has died, and the space may be freed already (lost_free) */
    if (ends)
        member_figures(group, &killed, &freed);
    else
        group_notify_killed(group, &killed);
    ends = ends && pack_ended(&killed, &freed, &ended) && space_retire_empty(group->space);
    group->freeing = group->freeing || ends;
    spin_unlock(&group->lock);
    if (!ends) {
        msg_kept_reply(&group->kept, &killed, sizeof(killed), group_kept_done);
        return;
    }
    group->work.run = run_ended;
    group->work.rank = WORK_PROGRAMS; /* the home's work waits for it */
    work_submit(&group->work);
}

static void handle_group_kill(const struct msg *m)
{
    const struct msg_group *message = m->data;
    struct group *group = group_find(message->group);
    bool none;

    if (group == NULL || group->home != m->ticket.kernel || group->freeing) {
        msg_reply_error(&m->ticket, -EPROTO);
        if (group != NULL)
            group_put(group);
        return;
    }
    spin_lock(&group->lock);
    __atomic_store_n(&group->exiting, true, __ATOMIC_SEQ_CST);
    msg_keep(m, &group->kept, NULL);
    none = group->count == 0;
    group->kill_waits = !none;
    if (!none)
        kill_threads_locked(group);
    spin_unlock(&group->lock);
    if (none)
        answer_killed(group);
    else
        group_put(group);
}

static void run_free(struct work *work)
{
    struct group *group = container_of(work, struct group, work);
    struct msg_group_killed killed;
    struct msg_group_freed freed;

    member_figures(group, &killed, &freed);
    end_member(group, &freed);
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
    group->work.rank = WORK_PROGRAMS;
    work_submit(&group->work);
}

void exit_init(void)
{
    exit_threads_init();
    space_outlives_task = has_host;
    group_hooks.killed = answer_killed;
    msg_register(MSG_GROUP_KILL, handle_group_kill, sizeof(struct msg_group), sizeof(struct msg_group_killed));
    msg_register(MSG_GROUP_FREE, handle_group_free, sizeof(struct msg_group), sizeof(struct msg_group_freed));
}
