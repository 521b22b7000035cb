/* The end of threads and groups. See the header and tasks/exit/exit.md.
 *
 * A group ends in two rounds led by its home: KILL makes every member kernel stop its threads and answers when none is
 * left, so that no CPU uses the group's tables any more; only then FREE lets every kernel give back its frames, which
 * others may have mapped until the end of the first round. */
#include "tasks/exit/exit.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/life/life.h"
#include "mm/space/space.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/futex/futex.h"
#include "tasks/migrate/adopted.h"
#include "tasks/process/internal.h"
#include "tasks/process/wire.h"
#include "tasks/sched/sched.h"

static void run_end(struct work *work);
static void run_free(struct work *work);

/* THREAD has to look: a shadow wakes to die, a wait that may be ended ends, a running thread passes the check on the
 * way to user mode. A thread that is leaving dies when its answer comes; one that is coming back is here before it
 * dies, for it has its state, and what it holds, to give up. */
static void kick_locked(struct thread *thread)
{
    if (thread->presence == THREAD_SHADOW && thread->disposition == DISPOSITION_NONE) {
        thread->disposition = DISPOSITION_EXIT;
        sched_wake(thread);
    } else {
        sched_kick(thread);
    }
}

static void kick_threads_locked(struct group *group)
{
    list_for_each(node, &group->threads)
        kick_locked(container_of(node, struct thread, group_node));
}

/* Home: the group is to end. The rest is done by a worker, which may wait. KILLED: even while exec prunes it; what the
 * old program's threads did themselves ends nothing then, for they are doomed. */
static void begin_end(struct group *group, uint32_t status, bool killed)
{
    bool first;

    spin_lock(&group->lock);
    first = !group->exiting && (killed || !group->process->pruning);
    if (first) {
        __atomic_store_n(&group->exiting, true, __ATOMIC_SEQ_CST);
        group->process->status = status;
        group->work.run = run_end;
        if (!group->process->pruning) { /* else the thread that prunes waits, and leads the end afterwards */
            group->quiet_count = 0;
            if (group->count == 0)
                completion_signal(&group->quiet);
        }
        kick_threads_locked(group);
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
        begin_end(group, status, killed);
}

void exit_group_other(struct group *group, uint32_t status)
{
    end_from_here(group, status, true);
}

static void check_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct group *group = context;
    struct msg_group_killed killed = {0};

    if (length < 0)
        panic("tasks: kernel %u answered %d to the end of group %u", kernel, length, group->id);
    if (length == (int)sizeof(killed))
        memcpy(&killed, reply, sizeof(killed));
    spin_lock(&group->lock);
    group->gone_user_ns += killed.user_ns;
    group->gone_system_ns += killed.system_ns;
    account_use_add(&group->gone.use, &killed.use);
    spin_unlock(&group->lock);
}

/* Of GROUP_FREE. */
static void check_freed(void *context, uint32_t kernel, const void *reply, int length)
{
    struct group *group = context;
    struct msg_group_freed freed = {.peak = 0};

    if (length < 0)
        panic("tasks: kernel %u answered %d to the end of group %u", kernel, length, group->id);
    if (length == (int)sizeof(freed))
        memcpy(&freed, reply, sizeof(freed));
    spin_lock(&group->lock);
    account_io_add(&group->gone.io, &freed.io);
    group->peaks += freed.peak;
    spin_unlock(&group->lock);
}

/* Its memory goes, for its end or for exec: what it came to is its process's. */
static void note_peak(struct group *group)
{
    uint64_t peak;

    spin_lock(&group->lock);
    peak = group->peaks + (group->host == NULL ? space_peak(group->space) : 0);
    group->peaks = 0;
    if (peak > group->process->peak)
        group->process->peak = peak;
    spin_unlock(&group->lock);
}

/* Two rounds over the kernels that host members besides this one: no thread runs, then nothing is left. In between this
 * kernel's own threads die, down to quiet_count. */
static void end_elsewhere(struct group *group)
{
    struct msg_group message = {.group = group->id};
    struct wait_reason reason = {.what = "end of a group's threads here", .kernel = -1, .key = group->id};
    kernel_set others = 0;

    if (group->host == NULL)                                         /* else they are its host's */
        others = group->space->members & ~(1ull << instance.kernel); /* nobody joins a group that ends or prunes */
    msg_gather(others, MSG_GROUP_KILL, &message, sizeof(message), check_answer, group, "end of a group's threads",
               group->id);
    completion_wait(&group->quiet, &reason);
    if (group->process->pruning)
        futex_release_thread(true); /* as long as all kernels still have the memory */
    msg_gather(others, MSG_GROUP_FREE, &message, sizeof(message), check_freed, group, "end of a group", group->id);
    note_peak(group);
}

void exit_leave_host(struct group *group)
{
    struct group *host;

    spin_lock(&group->lock);
    host = group->host;
    group->host = NULL;
    if (group->process->vfork_done != NULL)
        completion_signal(group->process->vfork_done);
    group->process->vfork_done = NULL;
    spin_unlock(&group->lock);
    if (host == NULL)
        return;
    group_leave(host);
}

int group_lodge(struct group *group, struct group **host_out)
{
    struct group *host;
    int error = -ESRCH;

    spin_lock(&group->lock);
    host = group->host != NULL ? group->host : group;
    if (!group->exiting && group->space != NULL)
        error = 0;
    if (error == 0)
        group_get(host);
    spin_unlock(&group->lock);
    if (error != 0)
        return error;
    spin_lock(&host->lock);
    if (host->exiting || host->space == NULL ||
        (host->process != NULL && (host->process->pruning || host->process->replacing)))
        error = -ESRCH;
    else
        host->count++;
    spin_unlock(&host->lock);
    if (error != 0)
        group_put(host);
    *host_out = host;
    return error;
}

void group_leave(struct group *host)
{
    bool answer;

    spin_lock(&host->lock);
    group_count_down_locked(host, &answer);
    spin_unlock(&host->lock);
    exit_answer(host, answer);
    group_put(host);
}

/* Gives back what the group has besides its threads and its process. */
static void release(struct group *group)
{
    struct space *space;
    void *files;
    bool lodges;

    spin_lock(&group->lock); /* who looks from outside finds nothing from now on */
    space = group->space;
    files = group->files;
    lodges = group->host != NULL;
    group->space = NULL;
    group->files = NULL;
    spin_unlock(&group->lock);
    if (files != NULL)
        group_hooks.release_files(files);
    if (!lodges)
        space_destroy(space);
    adopted_forget_group(group->id);
    exit_leave_host(group);
}

static void run_end(struct work *work)
{
    struct group *group = container_of(work, struct group, work);

    end_elsewhere(group);
    release(group);
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
    completion_init(&group->quiet);
    group->quiet_count = 1;
    if (group->count == 1)
        completion_signal(&group->quiet);
    list_for_each(node, &group->threads) {
        struct thread *thread = container_of(node, struct thread, group_node);

        if (thread == self)
            continue;
        thread->doomed = 1;
        kick_locked(thread);
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
    if (group->host == NULL) {
        spin_lock(&group->space->lock);
        group->space->members = 1ull << instance.kernel;
        spin_unlock(&group->space->lock);
    }
    spin_unlock(&group->lock);
    if (end) { /* a kill came meanwhile, and left the end to us */
        group_hooks.ending();
        group_get(group);
        work_submit(&group->work);
        return -EAGAIN;
    }
    adopted_forget_group(group->id);
    signal_mask_changed(self); /* those that died may have been chosen for signals of the group */
    return 0;
}

/* Home: one thread less; with the last one the group ends. */
static void count_down(struct group *group, const struct msg_thread *gone)
{
    struct process *process = group->process;
    uint32_t status;
    bool last;

    spin_lock(&group->lock);
    if (gone->thread == group->id)
        process->leader_status = gone->status;
    last = --process->live == 0;
    status = process->leader_status;
    spin_unlock(&group->lock);
    if (last)
        begin_end(group, status, true);
}

void exit_killed(void)
{
    const struct thread *thread = thread_current();

    /* Unless its state, and what it holds, is on another kernel. Threads are killed together, but not at one moment: a
     * word that is cleared, which may be a lock of the thread library, would lead those astray that still run. */
    if (thread->presence == THREAD_PRESENT)
        futex_release_thread(thread->group->host != NULL);
    sched_die();
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

    if (group->home == instance.kernel)
        end_from_here(group, status, killed);
    /* Waits, so that the word is there before the thread is gone: behind exec it would end the new program. */
    else if (msg_call(group->home, MSG_GROUP_EXIT, &message, sizeof(message), NULL, 0, "word of an end", group->id) < 0)
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

void exit_thread(uint32_t code)
{
    struct thread *thread = thread_current();
    struct group *group = thread->group;
    struct msg_thread message = {
        .group = group->id, .thread = thread->tid, .status = EXIT_STATUS(code), .start_ns = thread->context.start_ns};

    pi_close();
    futex_release_thread(true);
    signal_set_mask(thread, ~0ull);
    for (kernel_set rest = thread->visited & ~(1ull << instance.kernel); rest != 0; rest &= rest - 1)
        msg_notify((uint32_t)__builtin_ctzll(rest), MSG_THREAD_GONE, &message, sizeof(message));
    if (group->home == instance.kernel)
        count_down(group, &message);
    else
        msg_notify(group->home, MSG_THREAD_EXIT, &message, sizeof(message));
    sched_die();
}

/* A reference to the group was kept with the request. */
static void kept_done(struct msg_kept *kept)
{
    group_put(container_of(kept, struct group, kept));
}

void exit_answer(struct group *group, bool answer)
{
    /* no thread is left to add to it */
    struct msg_group_killed killed = {group->gone_user_ns, group->gone_system_ns, group->gone.use};

    if (answer)
        msg_kept_reply(&group->kept, &killed, sizeof(killed), kept_done);
}

void exit_reap(struct thread *thread)
{
    struct group *group = thread->group;
    struct stop_standing stop;
    bool answer = false, stopped;
    uint64_t user, system;

    if (group == NULL) {
        thread_free(thread);
        return;
    }
    sched_cpu_time(thread, &user, &system);
    group_get(group);
    spin_lock(&group->lock);
    if (thread->presence == THREAD_PRESENT) {
        group->gone_user_ns += user;
        group->gone_system_ns += system;
    }
    account_add(&group->gone, &thread->account); /* a shadow's, too */
    list_remove(&thread->group_node);
    group_made_locked(group, thread, -1);
    adopted_forget(thread->tid);
    thread_forget(thread); /* a handler may look for it as soon as the lock is free */
    stopped = stop_look_locked(group, &stop);
    group_count_down_locked(group, &answer);
    spin_unlock(&group->lock);
    thread_free(thread);
    if (stopped)
        stop_answer(group, &stop);
    watch_event(&group->moves);
    exit_answer(group, answer);
    group_put(group);
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

static void handle_thread_exit(const struct msg *m)
{
    const struct msg_thread *message = m->data;
    struct group *group = group_find(message->group);

    if (group == NULL)
        return;
    if (group->process != NULL)
        count_down(group, message);
    group_put(group);
}

static void handle_thread_gone(const struct msg *m)
{
    const struct msg_thread *message = m->data;
    struct group *group = group_find(message->group);
    struct thread *thread;

    adopted_forget(message->thread);
    if (group == NULL)
        return;
    spin_lock(&group->lock);
    thread = thread_find(message->thread);
    if (thread != NULL && thread->group == group && thread->presence != THREAD_PRESENT &&
        thread->context.start_ns == message->start_ns) {
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
        kick_threads_locked(group);
    }
    spin_unlock(&group->lock);
    if (answer) {
        struct msg_group_killed killed = {group->gone_user_ns, group->gone_system_ns, group->gone.use};

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
    msg_kept_reply(&group->kept, &freed, sizeof(freed), kept_done);
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
    msg_register(MSG_GROUP_KILL, handle_group_kill, sizeof(struct msg_group), sizeof(struct msg_group_killed));
    msg_register(MSG_GROUP_FREE, handle_group_free, sizeof(struct msg_group), sizeof(struct msg_group_freed));
}
