/* New processes and programs. See the header. */
#include "tasks/program/spawn.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/life/life.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/move/move.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "tasks/balance/balance.h"
#include "tasks/exit/exit.h"
#include "tasks/family/children.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/futex/futex.h"
#include "tasks/migrate/migrate.h"
#include "tasks/process/limit.h"
#include "tasks/process/process.h"
#include "tasks/process/user_thread.h"
#include "tasks/process/wire.h"
#include "tasks/quota/quota.h"
#include "tasks/sched/due.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/action.h"
#include "tasks/timer/process/process_timer.h"

static void name_locked(struct process *process, struct thread *thread, const struct spawn_program *program,
                        const struct program_start *start)
{
    const char *name = program_name(program->path);
    size_t length = strnlen(name, THREAD_NAME_MAX - 1);

    memset(thread->context.name, 0, THREAD_NAME_MAX);
    memcpy(thread->context.name, name, length);
    memcpy(process->name, thread->context.name, THREAD_NAME_MAX);
    process->environment = start->environment;
    process->environment_size = program->strings->envp_size;
    process->arguments_size = program->strings->argv_size;
}

static void set_start(struct thread *thread, const struct program_start *start)
{
    struct trap_frame *frame = thread_frame(thread);

    memset(frame, 0, sizeof(*frame));
    frame->cs = SELECTOR_USER_CODE;
    frame->ss = SELECTOR_USER_DATA;
    frame->rflags = RFLAGS_USER_DEFAULT;
    frame->vector = TRAP_SYSCALL;
    frame->rip = start->entry;
    frame->rsp = start->stack;
}

/* Makes the process and its first thread, which are not published yet. */
static int make(uint32_t tid, uint32_t parent, const struct spawn_program *program, struct thread **out)
{
    struct msg_process_state *state = parent != 0 ? heap_alloc(sizeof(*state)) : NULL;
    struct space *space = space_create(tid, instance.kernel);
    struct group *group = space != NULL ? group_create(tid, instance.kernel, space) : NULL;
    struct thread *thread = group != NULL ? thread_create_user(tid, group, NULL) : NULL;
    struct program_start start;
    bool begun = false;
    int error = thread != NULL && (parent == 0 || state != NULL) ? 0 : -ENOMEM;

    if (error == 0)
        error = program_load(space, program->file, program->path, program->strings, &start);
    if (error == 0 && parent != 0) {
        error = process_begin_child(parent, tid, SIGCHLD, state);
        begun = error == 0;
    }
    if (begun) {
        uint32_t user = program->strings->user->uid;

        error = quota_take(QUOTA_TASKS, user, 1, state->limits[LIMIT_NPROC].soft, -EAGAIN);
        if (error == 0)
            thread->quota_user = user;
    }
    if (error == 0)
        error = process_create(group, state);
    heap_free(state, sizeof(*state));
    if (error == 0) {
        process_reset_actions(group->process);
        process_attributes_exec(group->process->attributes);
        if (program->strings->secure)
            process_attributes_drop(group->process->attributes);
        thread->context.credentials = *program->strings->user;
        group->process->credentials = *program->strings->user;
        group->process->first = parent == 0;
        group->process->executed = true;
        name_locked(group->process, thread, program, &start);
        set_start(thread, &start);
        *out = thread;
        return 0;
    }
    if (begun)
        process_cancel_child(parent, tid);
    if (thread != NULL)
        thread_abandon(thread); /* drops its reference to the group */
    if (group != NULL)
        group_abandon(group);
    if (space != NULL)
        space_destroy(space);
    return error;
}

int64_t spawn_process(uint32_t parent, const struct spawn_program *program, void *files,
                      const struct spawn_attributes *attributes)
{
    uint32_t tid = thread_new_tid();
    struct thread *thread;
    struct group *group;
    int error = tid != 0 ? make(tid, parent, program, &thread) : -EAGAIN;

    if (error != 0)
        return error;
    group = thread->group;
    group->files = files;
    if (attributes != NULL) {
        memcpy(thread->context.affinity, attributes->affinity, sizeof(thread->context.affinity));
        thread->context.signal_mask = attributes->signal_mask;
        thread->context.nice = (int16_t)attributes->nice;
        thread->context.flags |= attributes->flags & CONTEXT_NO_NEW_PRIVILEGES;
    }
    group->process->live = 1;
    group_add_thread(group, thread);
    process_limits_apply(group);
    space_publish(group->space);
    group_publish(group); /* from now on signals reach it */
    if (group->process->first)
        group_hooks.first_begins(tid);
    sched_start(thread);
    return tid;
}

/* Resets the current thread's registers and the part of its context that does not outlive exec. */
static void reset_thread(struct thread *thread, const struct program_start *start)
{
    struct thread_context *context = &thread->context;

    set_start(thread, start);
    context->fs_base = context->gs_base = 0;
    context->stack_base = context->stack_size = context->stack_flags = 0;
    context->clear_child_tid = context->robust_list = 0;
    context->rseq = context->rseq_size = context->rseq_signature = 0;
    context->interrupted = 0;
    context->numa_group = 0;
    context->flags &= ~CONTEXT_KEEP_CAPABILITIES;
    fpu_init_area(thread->fpu);
    thread_reload(thread);
}

static uint64_t wanted_nodes(void *context, uint64_t page, uint32_t node)
{
    bool strict;

    (void)node;
    return mempolicy_nodes(context, page, &strict) & policy_machine_nodes();
}

static void ignore_result(void *context, uint64_t page, int result)
{
    (void)context;
    (void)page;
    (void)result;
}

/* Finds the area that contains AT, or the next one: its part from AT on, of at most 2 MiB. */
static bool next_part(struct space *space, uint64_t at, uint64_t *start, uint64_t *end)
{
    const struct area *area;

    spin_lock(&space->lock);
    area = area_next(&space->areas, at);
    if (area != NULL) {
        *start = area->start > at ? area->start : at;
        *end = (*start & ~(LEAF_SIZE - 1)) + LEAF_SIZE;
        *end = *end < area->end ? *end : area->end;
    }
    spin_unlock(&space->lock);
    return area != NULL;
}

/* What has been loaded goes where the thread's policy wants it, as if the program had touched it. A page for which
 * there is no memory stays: exec cannot fail any more. Of pages that the kernel keeps for the next exec, the process
 * gets copies of its own. */
static void settle_program(struct thread *thread)
{
    struct space_moves moves = {
        .wanted = wanted_nodes, .done = ignore_result, .context = &thread->context.memory_policy, .all = true};
    struct space *space = group_space(thread->group);
    uint64_t start, end = 0;

    if (thread->context.memory_policy.nodes == 0) /* near the CPU that has loaded it */
        return;
    while (!thread_dying(thread) && next_part(space, end, &start, &end))
        space_move(space, start, end, &moves);
}

/* The thread moved home to change its program. It has nothing here yet but the loaded pages, so it continues on the
 * kernel that the balancer chooses among those that its affinity allows. */
static void place_executed(struct thread *thread)
{
    uint32_t kernel = balance_place(thread, thread->context.affinity, BALANCE_EXEC, NULL);

    if (kernel == instance.kernel)
        return;
    spin_lock(&thread->group->lock);
    thread_order_move_locked(thread, kernel);
    spin_unlock(&thread->group->lock);
}

int spawn_exec(const struct spawn_program *program)
{
    struct thread *thread = thread_current();
    struct group *group = thread->group;
    struct space *space = space_create(group->id, instance.kernel);
    struct space *old;
    struct program_start start;
    bool pins;
    int error = space == NULL ? -ENOMEM : 0;

    if (error == 0)
        error = program_load(space, program->file, program->path, program->strings, &start);
    if (error == 0)
        error = exit_others();
    if (error != 0) {
        if (space != NULL)
            space_destroy(space);
        return error;
    }
    pi_close();
    futex_release_thread(true); /* this needs its old id and its old memory */
    spin_lock(&group->lock);
    old = group->space;
    pins = group->pinned != NULL;
    group->space = space;
    group->process->program_ns = clock_now();
    name_locked(group->process, thread, program, &start);
    process_reset_actions(group->process);
    process_attributes_exec(group->process->attributes);
    if (program->strings->secure)
        process_attributes_drop(group->process->attributes);
    group->process->executed = true;
    thread->context.credentials = *program->strings->user;
    group->process->credentials = *program->strings->user;
    if (thread->tid != group->id)
        thread_rename(thread, group->id);
    thread->pi.closed = false;
    spin_unlock(&group->lock);
    space_load(space);
    if (!pins)
        space_destroy(old);
    space_publish(space);
    spin_lock(&group->lock);
    group->freeing = false;
    spin_unlock(&group->lock);
    exit_leave_host(group);
    process_timers_end(group, false);
    process_limits_apply(group);
    reset_thread(thread, &start);
    if (group->files != NULL && group_hooks.exec_files(group) != 0)
        exit_group_other(group, EXIT_SIGNAL(SIGKILL)); /* the old program is gone, so exec cannot fail any more */
    settle_program(thread);
    place_executed(thread);
    return 0;
}
