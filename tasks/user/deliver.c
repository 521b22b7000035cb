/* Delivery of signals: the current thread acts on the signals that it takes on its way to user mode. See the header. */
#include "tasks/user/deliver.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/signal_frame.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/exit/exit.h"
#include "tasks/family/session.h"
#include "tasks/kill/kill.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/process/wire.h"
#include "tasks/signal/action.h"
#include "tasks/signal/signal.h"
#include "tasks/user/rseq.h"
#include "tasks/user/user.h"

static bool from_fault(const struct signal_info *info)
{
    return info->code > 0 && (SIGNAL_BIT(info->signal) & SIGNAL_FAULTS) != 0;
}

/* siginfo_t: signal, errno, code, 4 bytes of padding, then the fields of the signal's kind. */
static void info_to_user(const struct signal_info *info, uint8_t out[128])
{
    uint32_t head[4] = {info->signal, 0, (uint32_t)info->code, 0};
    uint32_t ids[2] = {info->pid, info->uid};
    uint64_t extra[2] = {info->extra & UINT32_MAX, info->extra >> 32};
    uint32_t status = (uint32_t)info->value;

    memset(out, 0, 128);
    memcpy(out, head, sizeof(head));
    if (from_fault(info) && info->code != SI_KERNEL) {
        memcpy(out + 16, &info->value, sizeof(info->value));
        return;
    }
    memcpy(out + 16, ids, sizeof(ids));
    if (info->signal == SIGCHLD && info->code > 0) {
        memcpy(out + 24, &status, sizeof(status));
        memcpy(out + 32, extra, sizeof(extra));
    } else {
        memcpy(out + 24, &info->value, sizeof(info->value));
    }
}

void signal_info_to_user(const struct signal_info *info, uint8_t out[128])
{
    info_to_user(info, out);
}

static bool on_alternate_stack(const struct thread_context *context, uint64_t rsp)
{
    return context->stack_size != 0 && (context->stack_flags & SS_AUTODISARM) == 0 && rsp > context->stack_base &&
           rsp - context->stack_base <= context->stack_size;
}

/* Loads what THREAD, the current one, has in the FPU, if the registers do not hold it already. */
static void load_fpu(struct thread *thread)
{
    struct cpu *cpu = cpu_self();

    if (cpu->fpu_owner == thread)
        return;
    fpu_restore(thread->fpu);
    cpu->fpu_owner = thread;
    thread->fpu_cpu = cpu->index;
}

/* Saves the FPU state at user address TO, in the signal frame, from where signal_return restores it. */
static int write_fpu(struct thread *thread, uint64_t to)
{
    struct signal_fpu_marks marks;
    uint32_t back = SIGNAL_FPU_BACK;

    if (!user_range(to, signal_fpu_size()))
        return -EFAULT;
    if (cpu_features.xsave) {
        signal_fpu_mark(&marks);
        if (user_write(to + SIGNAL_FPU_MARKS, &marks, sizeof(marks)) != 0 ||
            user_write(to + cpu_features.fpu_size, &back, sizeof(back)) != 0)
            return -EFAULT;
    }
    load_fpu(thread);
    return user_save_fpu((void *)to, cpu_features.xsave) == 0 ? 0 : -EFAULT;
}

/* A handler begins with a fresh FPU, as after exec. */
static void reset_fpu(struct thread *thread)
{
    struct cpu *cpu = cpu_self();

    fpu_reset();
    cpu->fpu_owner = thread;
    thread->fpu_cpu = cpu->index;
}

/* Makes the thread's frame enter ACTION's handler. -EFAULT: the stack or the handler's address cannot be used.
 */
static int enter_handler(struct thread *thread, const struct signal_info *info, const struct signal_action *action)
{
    struct thread_context *context = &thread->context;
    struct trap_frame *frame = thread_frame(thread);
    struct signal_frame out = {.return_address = action->restorer, .flags = 6 | (cpu_features.xsave ? 1 : 0)};
    uint64_t top = frame->rsp - SIGNAL_RED_ZONE;
    uint64_t at, fpu, mask;
    bool alternate;
    int error;

    if (action->handler >= USER_END)
        return -EFAULT; /* the kernel itself would fault on the return to such an address */
    alternate = on_alternate_stack(context, frame->rsp);
    if ((action->flags & SA_ONSTACK) != 0 && context->stack_size != 0 && !alternate) {
        top = context->stack_base + context->stack_size;
        alternate = true;
    }
    at = signal_frame_place(top, &fpu);
    if (alternate && (at <= context->stack_base || at - context->stack_base > context->stack_size))
        return -EFAULT; /* memory below the alternate stack must not be written */
    out.stack_base = context->stack_base;
    out.stack_size = context->stack_size;
    out.stack_flags = context->stack_flags | (context->stack_size == 0                  ? SS_DISABLE
                                              : on_alternate_stack(context, frame->rsp) ? SS_ONSTACK
                                                                                        : 0);
    signal_context_save(&out.context, frame, info->signal == SIGSEGV ? info->value : 0);
    out.context.fpu = fpu;
    out.mask = (context->flags & CONTEXT_RESTORE_MASK) != 0 ? context->signal_saved_mask : context->signal_mask;
    out.context.old_mask = out.mask;
    info_to_user(info, out.info);
    error = user_write(at, &out, sizeof(out));
    if (error == 0)
        error = write_fpu(thread, fpu);
    if (error != 0)
        return error;

    context->flags &= ~CONTEXT_RESTORE_MASK;
    if ((context->stack_flags & SS_AUTODISARM) != 0)
        context->stack_base = context->stack_size = context->stack_flags = 0;
    mask = context->signal_mask | (action->mask & ~SIGNAL_UNBLOCKABLE);
    if ((action->flags & SA_NODEFER) == 0)
        mask |= SIGNAL_BIT(info->signal);
    frame->rdi = info->signal;
    frame->rsi = at + offsetof(struct signal_frame, info);
    frame->rdx = at + offsetof(struct signal_frame, flags);
    frame->rax = 0;
    frame->rip = action->handler;
    frame->rsp = at;
    frame->rflags &= ~0x500ull; /* clears the direction and trap flags */
    frame->cs = SELECTOR_USER_CODE;
    frame->ss = SELECTOR_USER_DATA;
    reset_fpu(thread);
    signal_set_mask(thread, mask);
    return 0;
}

/* Whether SIGNAL is a terminal's stop signal and the process group is orphaned: then it has no effect. */
static bool stops_nobody(struct thread *thread, uint32_t signal)
{
    struct msg_process_call call = {.id = thread->group->id, .type = MSG_PROCESS_GET_GROUP};
    struct msg_process_result result;
    int64_t group, session;

    if (signal == SIGSTOP)
        return false;
    group = process_call_surely(&call, &result);
    call.type = MSG_PROCESS_GET_SESSION;
    session = process_call_surely(&call, &result);
    return group > 0 && session > 0 && session_is_orphaned((uint32_t)group, (uint32_t)session);
}

static void take_default(struct thread *thread, const struct signal_info *info)
{
    struct msg_process_call call = {
        .id = thread->group->id, .type = MSG_PROCESS_STOP, .stop = {.continues = info->extra, .signal = info->signal}};
    struct msg_process_result result;

    switch (signal_default(info->signal)) {
    case SIGNAL_IGNORED:
    case SIGNAL_CONTINUES:
        break;
    case SIGNAL_STOPS:
        if (!stops_nobody(thread, info->signal))
            process_call_surely(&call, &result);
        break;
    case SIGNAL_TERMINATES:
        if (from_fault(info))
            signal_log_death(thread, info);
        else if (info->pid != thread->group->id) /* not sent by the process itself, as abort(3) does */
            exit_group_killed(EXIT_SIGNAL(info->signal));
        exit_group(EXIT_SIGNAL(info->signal));
    }
}

/* Settles the interrupted call before a handler with FLAGS runs: the call restarts after the handler, or has failed. */
static void settle_call(struct thread *thread, uint64_t flags)
{
    if (thread->context.interrupted == ERESTARTNOINTR ||
        (thread->context.interrupted == ERESTARTSYS && (flags & SA_RESTART) != 0))
        thread_restart_call(thread);
    else if (thread->context.interrupted == ERESTART_RESTARTBLOCK && thread->context.restart_function == RESTART_WRITE)
        thread_frame(thread)->rax = thread->context.restart_argument[0]; /* number of bytes already written */
    thread->context.interrupted = 0;                                     /* otherwise rax is -EINTR already */
}

/* The program's stack is of no use for a signal frame. */
static void force_segv(void)
{
    const struct signal_info info = {.signal = SIGSEGV, .code = SI_KERNEL};

    signal_force(&info);
}

static void act(struct thread *thread, const struct signal_info *info, const struct signal_action *action)
{
    if (action->handler == SIG_DFL || (action->handler == SIG_IGN && from_fault(info))) {
        take_default(thread, info);
        return;
    }
    if (action->handler == SIG_IGN)
        return;
    settle_call(thread, action->flags);
    if (thread->context.rseq != 0)
        rseq_update(thread); /* the handler interrupts the thread's critical section */
    if (enter_handler(thread, info, action) == 0)
        return;
    if (info->signal != SIGSEGV) {
        force_segv(); /* its handler may have a stack of its own */
        return;
    }
    signal_log_death(thread, info);
    exit_group(EXIT_SIGNAL(SIGSEGV));
}

void signal_deliver(struct thread *thread)
{
    struct signal_info info;
    struct signal_action action;

    thread_clear_due(thread, THREAD_DUE_SIGNAL);
    while (!thread_dying(thread) && (thread->due & THREAD_DUE_STOP) == 0) {
        enum signal_taking taking = signal_take_to_act(thread, ~thread->context.signal_mask, &info, &action);

        if (taking == SIGNAL_NONE)
            break;
        if (taking == SIGNAL_WITH_ACTION || signal_take_action(thread->group, info.signal, &action))
            act(thread, &info, &action); /* else the process is ending, or this thread is doomed */
    }
    if ((thread->due & THREAD_DUE_STOP) != 0)
        signal_mask_changed(thread); /* other signals are taken after the stop */
}

void signal_return(struct thread *thread)
{
    struct thread_context *context = &thread->context;
    struct trap_frame *frame = thread_frame(thread);
    struct signal_frame *in = heap_alloc_unset(sizeof(*in));
    uint32_t size = signal_fpu_size();
    uint8_t *area = heap_alloc_unset(size);
    uint64_t mask = 0;
    bool good = in != NULL && area != NULL && user_read(in, frame->rsp - 8, sizeof(*in)) == 0;

    if (good && in->context.fpu != 0) {
        good = user_read(area, in->context.fpu, size) == 0 && signal_fpu_check(area);
        if (good) {
            memcpy(thread->fpu, area, cpu_features.fpu_size);
            cpu_self()->fpu_owner = NULL; /* what the registers hold does not count any more */
            load_fpu(thread);
        }
    } else if (good) {
        reset_fpu(thread);
    }
    good = good && signal_context_load(&in->context, frame);
    if (good) {
        mask = in->mask & ~SIGNAL_UNBLOCKABLE;
        if (in->stack_size == 0 || (in->stack_flags & SS_DISABLE) != 0) {
            if (!on_alternate_stack(context, frame->rsp))
                context->stack_base = context->stack_size = context->stack_flags = 0;
        } else if (!on_alternate_stack(context, frame->rsp)) {
            context->stack_base = in->stack_base;
            context->stack_size = in->stack_size;
            context->stack_flags = in->stack_flags & SS_AUTODISARM;
        }
        context->interrupted = 0;
        frame->vector = TRAP_SYSCALL;
    }
    heap_free(in, sizeof(*in));
    heap_free(area, size);
    if (good)
        signal_set_mask(thread, mask);
    else
        force_segv();
}
