/* The end of groups. See the header and tasks/exit/exit.md.
 *
 * The home ends a group in two rounds. In the first, KILL, every member kernel stops its threads and replies when none
 * is left; from then on the group uses its page tables no more. Only in the second, FREE, does each kernel free its
 * frames, because other kernels may have mapped them until the end of the first round. Between the rounds the memory is
 * left to its pins; nobody waits for these, except in exec.
 *
 * The rounds run in workers, or for exec in the calling thread, and may wait. Handlers do not wait: they keep the
 * request and reply later. */
#include "tasks/exit/exit.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/change/again.h"
#include "mm/life/life.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "tasks/exit/internal.h"
#include "tasks/family/end.h"
#include "tasks/futex/futex.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/role/adopted.h"
#include "tasks/timer/process/alarm.h"
#include "tasks/timer/process/process_timer.h"

/* The two rounds of a group. */
struct rounds {
    struct group *group;
    kernel_set left; /* other members that still have a part of it */
};

/* KERNEL has no part of the group, whatever it has answered: LENGTH is an error, unless it has died with its threads.
 */
static void note_error(struct rounds *rounds, uint32_t kernel, int length)
{
    rounds->left &= ~(1ull << kernel);
    group_pins_away(rounds->group, kernel, GROUP_PINS_LOST);
    if (msg_peer_fenced(kernel))
        __atomic_store_n(&rounds->group->lost, true, __ATOMIC_RELEASE);
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
        .user_ns = ended->user_ns,
        .system_ns = ended->system_ns,
        .use = {ended->minor_faults, ended->major_faults, ended->waits, ended->preemptions},
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
    } else if (killed.pinned != 0) {
        group_pins_away(rounds->group, kernel, GROUP_PINS_CHANGE);
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

/* The other members of GROUP, which has no newcomers any more; none if it uses the memory of its host. */
static kernel_set other_members(struct group *group)
{
    kernel_set members;

    spin_lock(&group->lock);
    members = group_members_locked(group);
    spin_unlock(&group->lock);
    return members & ~(1ull << instance.kernel);
}

/* KILL is answered: those of the members ASKED that are not in LEFT have no part of GROUP any more. */
static void keep_members(struct group *group, kernel_set asked, kernel_set left)
{
    spin_lock(&group->lock);
    group->process->is_quiet = true;
    if (group->pinned == NULL) {
        spin_lock(&group->space->lock);
        group->space->members &= ~asked | left;
        spin_unlock(&group->space->lock);
    }
    spin_unlock(&group->lock);
}

void exit_kill_round(struct group *group)
{
    struct wait_reason reason = {.what = "end of a group's threads here", .kernel = -1, .key = group->id};
    struct msg_group_kill message = {.group = group->id};
    struct rounds rounds = {.group = group};

    if (!group->process->is_quiet) {
        kernel_set members = other_members(group);

        message.members = members | 1ull << instance.kernel;
        message.lost = __atomic_load_n(&group->lost, __ATOMIC_ACQUIRE) ? 1 : 0; /* after the members: lost_end */
        rounds.left = members;
        msg_gather(members, MSG_GROUP_KILL, &message, sizeof(message), check_killed, &rounds,
                   "end of a group's threads", group->id);
        keep_members(group, members, rounds.left);
    }
    completion_wait(&group->quiet, &reason);
    if (__atomic_load_n(&group->lost, __ATOMIC_ACQUIRE) && group->pinned == NULL)
        futex_release_lost(group); /* now that no other thread can own what they held */
}

void exit_free_round(struct group *group)
{
    struct msg_group message = {.group = group->id};
    struct rounds rounds = {.group = group, .left = other_members(group)};

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

static void release_files(struct group *group)
{
    void *files;

    spin_lock(&group->lock); /* observers such as /proc find no files from now on */
    files = group->files;
    group->files = NULL;
    spin_unlock(&group->lock);
    if (files != NULL)
        group_hooks.release_files(files);
}

static void release_memory(struct group *group)
{
    struct space *space;
    bool pins;

    spin_lock(&group->lock); /* the same */
    space = group->space;
    pins = group->pinned != NULL;
    group->space = NULL;
    spin_unlock(&group->lock);
    if (!pins)
        space_destroy(space);
    adopted_forget_group(group->id);
    exit_leave_host(group);
}

/* The end from the second round on. */
static void run_unpinned(struct work *work)
{
    struct group *group = container_of(work, struct group, work);

    exit_free_round(group);
    release_memory(group);
    process_ended(group);
    group_put(group);
}

static void unpinned(struct group *group)
{
    group->work.run = run_unpinned;
    group->work.rank = WORK_ENDS; /* a new home has not begun the end, which sets it */
    work_submit(&group->work);
}

/* Whether GROUP is left to the pins of its memory now. */
static bool leave_to_pins(struct group *group)
{
    bool leaves;

    spin_lock(&group->lock);
    leaves = group_has_pins_locked(group);
    group->process->is_pinned = leaves;
    group->freeing = !leaves;
    spin_unlock(&group->lock);
    return leaves;
}

void exit_run(struct work *work)
{
    struct group *group = container_of(work, struct group, work);

    kill_threads(group);
    exit_kill_round(group);
    futex_forget_all_robust(group);
    release_files(group);
    alarm_end(group);
    process_timers_end(group, true);
    if (!leave_to_pins(group))
        run_unpinned(work);
}

/* Frees what this kernel, a member, has of GROUP, and answers its kept request with ANSWER, of one slot. Consumes a
 * reference. */
static void end_member(struct group *group, const void *answer)
{
    struct space *space;

    spin_lock(&group->lock); /* nobody finds it there while it is destroyed */
    space = group->space;
    group->space = NULL;
    spin_unlock(&group->lock);
    space_destroy(space);
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
    ends = !group->freeing && group->pins == 0; /* freeing: the home has died, the space is freed perhaps (lost_free) */
    if (ends)
        member_figures(group, &killed, &freed);
    else
        group_notify_killed(group, &killed);
    group->pins_told = group->pins > 0;
    killed.pinned = group->pins_told;
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

/* A process that uses the memory ends with any kernel that has a part of it (tasks/exit/lost.c). */
static void note_parts_locked(struct group *group, const struct msg_group_kill *message)
{
    group->parts = message->members;
    group->lost = group->lost || message->lost != 0 || (message->members & msg_peers_fenced()) != 0;
}

static void handle_group_kill(const struct msg *m)
{
    const struct msg_group_kill *message = m->data;
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
    note_parts_locked(group, message);
    none = group->count == 0;
    group->kill_waits = !none;
    spin_unlock(&group->lock);
    if (none) {
        answer_killed(group);
    } else {
        kill_threads_soon(group);
        group_put(group);
    }
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

    if (group == NULL || group->home != m->ticket.kernel || !group->exiting || group->count != 0 || group->pins != 0) {
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
    group_hooks.unpinned = unpinned;
    msg_register(MSG_GROUP_KILL, handle_group_kill, sizeof(struct msg_group_kill), sizeof(struct msg_group_killed));
    msg_register(MSG_GROUP_FREE, handle_group_free, sizeof(struct msg_group), sizeof(struct msg_group_freed));
}
