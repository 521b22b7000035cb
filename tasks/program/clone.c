/* New threads and processes. See the header. */
#include "tasks/program/clone.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/change/revoke.h"
#include "mm/fork/fork.h"
#include "mm/frame/heap.h"
#include "mm/life/life.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/balance/balance.h"
#include "tasks/exit/exit.h"
#include "tasks/family/children.h"
#include "tasks/process/limit.h"
#include "tasks/process/process.h"
#include "tasks/process/user_thread.h"
#include "tasks/process/vfork.h"
#include "tasks/quota/quota.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/due.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/action.h"

#define THREAD_FLAGS (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)
#define ID_FLAGS (CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID)
#define KNOWN_FLAGS                                                                                                    \
    (THREAD_FLAGS | ID_FLAGS | CLONE_SYSVSEM | CLONE_DETACHED | CLONE_VFORK | CLONE_PARENT | CLONE_PIDFD |             \
     CLONE_CLEAR_SIGHAND)

/* Makes THREAD, which already has the FPU state of the current thread, a copy of that thread. */
static void copy_state(struct thread *thread, const struct trap_frame *frame, const struct clone_arguments *arguments)
{
    struct thread *self = thread_current();
    uint64_t start_ns = thread->context.start_ns;

    *thread_frame(thread) = *frame;
    thread_frame(thread)->rax = 0;
    if (arguments->stack != 0)
        thread_frame(thread)->rsp = arguments->stack;
    thread->context = self->context;
    thread->context.start_ns = start_ns;
    thread->context.user_ns = thread->context.system_ns = thread->context.moves = 0;
    sched_inherit(thread, self);
    thread->context.timer_slack_usual = thread->context.timer_slack; /* its creator's value */
    thread->context.robust_list = 0;
    thread->context.interrupted = 0;
    thread->context.flags &= CONTEXT_INHERITED;
    thread->context.chosen = 0;
    thread->context.clear_child_tid = (arguments->flags & CLONE_CHILD_CLEARTID) != 0 ? arguments->child_tid : 0;
    if ((arguments->flags & CLONE_SETTLS) != 0)
        thread->context.fs_base = arguments->tls;
    if ((arguments->flags & CLONE_VM) != 0) {
        thread->context.rseq = thread->context.rseq_size = thread->context.rseq_signature = 0;
        if ((arguments->flags & CLONE_VFORK) == 0)
            thread->context.stack_base = thread->context.stack_size = thread->context.stack_flags = 0;
    }
}

/* Chooses the kernel where THREAD, which has not run yet, begins. */
static void place(struct thread *thread, enum balance_event event)
{
    struct group *group = thread->group;
    uint32_t kernel;

    if (event == BALANCE_CLONE)
        group_made_begin(group);
    spin_lock(&group->lock);
    kernel = balance_place(thread_current(), thread->context.affinity, event, group->made);
    if (event == BALANCE_CLONE)
        group_made_locked(group, thread, (int32_t)kernel);
    if (kernel != instance.kernel) {
        thread->target = kernel;
        __atomic_fetch_or(&thread->due, THREAD_DUE_MOVE, __ATOMIC_SEQ_CST);
    }
    spin_unlock(&group->lock);
}

/* Counts THREAD, which is new, for its user, who may have LIMIT: 0, -EAGAIN or -ENOMEM. */
static int count_task(struct thread *thread, uint64_t limit)
{
    uint32_t user = thread_current()->context.credentials.uid;
    int error = quota_take(QUOTA_TASKS, user, 1, limit, -EAGAIN);

    if (error == 0)
        thread->quota_user = user;
    return error;
}

/* RLIMIT_NPROC of GROUP; away from its home, where it is not known, the usual one. */
static uint64_t task_limit(const struct group *group)
{
    return group->process != NULL ? group->process->limits[LIMIT_NPROC].soft : quota_limit(QUOTA_TASKS);
}

static int64_t clone_thread(const struct trap_frame *frame, const struct clone_arguments *arguments)
{
    struct thread *self = thread_current();
    uint32_t tid = thread_new_tid();
    struct thread *thread;
    bool ending = false;
    int error;

    if (tid == 0)
        return -EAGAIN;
    if ((arguments->flags & CLONE_PARENT_SETTID) != 0 && user_write(arguments->parent_tid, &tid, sizeof(tid)) != 0)
        return -EFAULT;
    if ((arguments->flags & CLONE_CHILD_SETTID) != 0 && user_write(arguments->child_tid, &tid, sizeof(tid)) != 0)
        return -EFAULT;
    thread = thread_create_user(tid, self->group, self);
    if (thread == NULL)
        return -ENOMEM;
    copy_state(thread, frame, arguments);
    /* If the second call fails after the first has succeeded, all threads of the group are dying, or all but the one
     * that calls exec: nothing uses the count any more, so it is not corrected. */
    error = count_task(thread, task_limit(self->group));
    if (error == 0) {
        error = group_count_thread(self->group);
        ending = error != 0;
    }
    if (error == 0) {
        error = group_add_thread(self->group, thread);
        ending = error != 0;
    }
    if (error != 0) {
        thread_abandon(thread);
        if (ending && error != -ENOMEM)
            exit_when_killed();
        return error;
    }
    if (self->group->pinned == NULL)
        place(thread, BALANCE_CLONE);
    sched_start(thread);
    return tid;
}

/* Gives the new GROUP a copy of the caller's address space, or with CLONE_VM the caller's own. */
static int give_memory(struct group *group, uint64_t flags)
{
    struct group *own = thread_current()->group;
    struct group *host = own->pinned != NULL ? own->pinned : own;
    int error;

    if ((flags & CLONE_VM) == 0) {
        group->space = space_create(group->id, instance.kernel);
        if (group->space == NULL)
            return -ENOMEM;
        error = space_fork(own->space, group->space);
        if (error != 0) {
            space_destroy(group->space);
            group->space = NULL;
        }
        return error;
    }
    spin_lock(&host->lock);
    error = group_pin_locked(host, host != own);
    if (error == 0)
        group->space = host->space;
    else if (host == own && own->process != NULL && own->process->pruning)
        thread_current()->doomed = 1; /* as it is about to be by exec: its program is not to see the error */
    spin_unlock(&host->lock);
    if (error == 0) {
        group_get(host);
        group->pinned = host;
    }
    return error == -ESRCH ? -EAGAIN : error;
}

/* Undoes give_memory for GROUP, which is not created after all. */
static void take_memory(struct group *group)
{
    if (group->pinned == NULL)
        space_destroy(group->space);
    group->space = NULL;
    exit_leave_host(group);
}

/* Makes a child, which only its parent's home knows so far. */
static int make_child(const struct clone_arguments *arguments, uint32_t tid, struct thread **out)
{
    struct group *own = thread_current()->group;
    struct msg_process_state *state = heap_alloc(sizeof(*state));
    struct group *group = group_create(tid, instance.kernel, NULL);
    struct thread *thread = group != NULL ? thread_create_user(tid, group, thread_current()) : NULL;
    bool sibling = (arguments->flags & CLONE_PARENT) != 0;
    uint32_t parent = 0;
    void *files = NULL;
    int error = thread == NULL || state == NULL ? -ENOMEM : 0;
    bool begun = false;

    if (error == 0) {
        if (sibling)
            error = process_begin_sibling(own->id, tid, state);
        else
            error = process_begin_child(own->id, tid, (uint32_t)arguments->exit_signal, state);
        begun = error == 0;
    }
    if (begun) {
        parent = state->parent;
        error = count_task(thread, state->limits[LIMIT_NPROC].soft);
    }
    if (error == 0)
        error = process_create(group, state);
    if (error == 0) {
        group->process->exit_signal = sibling ? state->exit_signal : (uint32_t)arguments->exit_signal;
        group->process->credentials = thread_current()->context.credentials;
        if ((arguments->flags & CLONE_FS) != 0)
            process_share_umask(group->process, own->process);
        if ((arguments->flags & CLONE_CLEAR_SIGHAND) != 0)
            process_reset_actions(group->process);
        error = group_hooks.fork_files(own, (arguments->flags & CLONE_FILES) != 0, (arguments->flags & CLONE_FS) != 0,
                                       &files);
    }
    heap_free(state, sizeof(*state));
    if (error == 0)
        error = give_memory(group, arguments->flags);
    if (error == 0 && (arguments->flags & CLONE_PIDFD) != 0) {
        error = group_hooks.open_process(group, arguments->pidfd);
        if (error != 0)
            take_memory(group);
    }
    if (error == 0) {
        group->files = files;
        process_limits_apply(group);
        *out = thread;
        return 0;
    }
    if (files != NULL)
        group_hooks.release_files(files);
    if (begun)
        process_cancel_child(parent, tid);
    if (thread != NULL)
        thread_abandon(thread);
    if (group != NULL)
        group_abandon(group);
    return error;
}

/* Waits until the child GROUP gives back the address space, or until the caller is to die. */
static void wait_for_child(struct group *group, struct completion *done)
{
    struct wait_reason reason = {.what = "end or exec of a child (vfork)", .kernel = -1, .key = group->id};
    bool signalled;

    if (vfork_wait(done, &reason))
        return;
    spin_lock(&group->lock);
    signalled = group->process->vfork_done == NULL;
    group->process->vfork_done = NULL;
    spin_unlock(&group->lock);
    if (signalled)
        completion_wait(done, &reason);
}

void clone_go_back(void)
{
    struct thread *self = thread_current();
    int64_t kernel = -EINVAL;

    if (!cpu_mask_allows(self->context.affinity, instance.kernel))
        kernel = cpu_mask_nearest(self->context.affinity);
    if (kernel < 0)
        return;
    spin_lock(&self->group->lock);
    thread_order_move_locked(self, (uint32_t)kernel);
    spin_unlock(&self->group->lock);
}

static int64_t clone_process(const struct trap_frame *frame, const struct clone_arguments *arguments)
{
    bool waits = (arguments->flags & CLONE_VFORK) != 0;
    uint32_t tid = thread_new_tid();
    struct completion done;
    struct thread *thread;
    struct group *group;
    int error;

    if (tid == 0)
        return -EAGAIN;
    if ((arguments->flags & CLONE_PARENT_SETTID) != 0 && user_write(arguments->parent_tid, &tid, sizeof(tid)) != 0)
        return -EFAULT;
    error = make_child(arguments, tid, &thread);
    if (error != 0)
        return error;
    group = thread->group;
    copy_state(thread, frame, arguments);
    group_hooks.begin_root(group->files, &thread->context.credentials);
    thread->child_tid = (arguments->flags & CLONE_CHILD_SETTID) != 0 ? arguments->child_tid : 0;
    completion_init(&done);
    if (waits)
        group->process->vfork_done = &done;
    group->process->live = 1;
    group_add_thread(group, thread);
    group_get(group);
    if (group->pinned == NULL)
        space_publish(group->space);
    group_publish(group);
    if (group->pinned == NULL && space_catch_up(group->space) != 0)
        log_line("clone: process %u keeps pages of a file that has got shorter", group->id);
    if (group->pinned == NULL)
        place(thread, BALANCE_FORK);
    sched_start(thread);
    if (waits)
        wait_for_child(group, &done);
    group_put(group);
    if ((arguments->flags & (CLONE_FILES | CLONE_FS)) != 0)
        clone_go_back();
    return tid;
}

static bool flags_valid(const struct clone_arguments *arguments)
{
    uint64_t flags = arguments->flags;

    if ((flags & ~(uint64_t)KNOWN_FLAGS) != 0 || arguments->exit_signal > SIGNALS ||
        ((flags & CLONE_SETTLS) != 0 && arguments->tls >= USER_END))
        return false;
    if (((flags & CLONE_THREAD) != 0 && (flags & CLONE_SIGHAND) == 0) ||
        ((flags & CLONE_SIGHAND) != 0 && (flags & CLONE_VM) == 0) ||
        ((flags & CLONE_SIGHAND) != 0 && (flags & CLONE_CLEAR_SIGHAND) != 0))
        return false;
    if ((flags & CLONE_PIDFD) != 0 && (flags & (CLONE_THREAD | CLONE_DETACHED)) != 0)
        return false;
    if ((flags & CLONE_THREAD) != 0)
        return (flags & THREAD_FLAGS) == THREAD_FLAGS && (flags & CLONE_VFORK) == 0;
    return (flags & CLONE_SIGHAND) == 0; /* without CLONE_THREAD, each process has its own handlers */
}

int64_t clone_task(const struct trap_frame *frame, const struct clone_arguments *arguments)
{
    struct group *own = thread_current()->group;

    if (!flags_valid(arguments))
        return -EINVAL;
    if ((arguments->flags & CLONE_THREAD) != 0)
        return clone_thread(frame, arguments);
    if ((arguments->flags & (CLONE_FILES | CLONE_FS)) != 0 && own->home != instance.kernel) {
        /* processes share descriptors and directories on one kernel, the home: the thread moves and the call restarts
         * there */
        spin_lock(&own->lock);
        thread_order_move_locked(thread_current(), own->home);
        spin_unlock(&own->lock);
        return -ERESTARTNOINTR;
    }
    return clone_process(frame, arguments);
}
