/* The return to user mode. See the header. */
#include "tasks/user/user.h"

#include "kernel/arch/x86_64/cpu.h"
#include "tasks/freeze/freeze.h"
#include "tasks/kill/kill.h"
#include "tasks/migrate/migrate.h"
#include "tasks/oom/oom.h"
#include "tasks/process/stop.h"
#include "tasks/process/user_thread.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/signal.h"
#include "tasks/user/deliver.h"
#include "tasks/user/rseq.h"

#define SYSCALL_SIZE 2 /* bytes of the SYSCALL instruction */
#define SYS_RESTART_SYSCALL 219

void thread_restart_call(struct thread *thread)
{
    struct trap_frame *frame = thread_frame(thread);

    frame->rax = thread->context.interrupted == ERESTART_RESTARTBLOCK ? SYS_RESTART_SYSCALL : frame->error;
    frame->rip -= SYSCALL_SIZE;
    thread->context.interrupted = 0;
}

/* First of what is due: where the thread moves to, nobody knows that its call was refused memory here. */
static void settle_refused(struct thread *thread)
{
    if (oom_settle())
        thread_restart_call(thread);
}

/* Performs one action that is due. True: the caller checks again, because more may have become due. */
static bool do_due(struct thread *thread)
{
    uint32_t due = thread->due;

    if ((due & THREAD_DUE_MEMORY) != 0)
        settle_refused(thread);
    else if ((due & THREAD_DUE_MOVE) != 0)
        migrate_ordered(thread);
    else if ((due & THREAD_DUE_STOP) != 0)
        stop_quiesce(thread);
    else if ((due & THREAD_DUE_FREEZE) != 0 || ((due & THREAD_DUE_PASSED) != 0 && thread->context.interrupted == 0))
        freeze_quiesce(thread);
    else if ((due & THREAD_DUE_SIGNAL) != 0)
        signal_deliver(thread);
    else if ((due & THREAD_DUE_RSEQ) != 0)
        rseq_update(thread);
    else
        return false;
    return true;
}

void thread_settle(void)
{
    struct thread *thread = thread_current();

    for (;;) {
        if (thread_dying(thread))
            exit_killed();
        if (thread->due != 0 && do_due(thread))
            continue;
        if (cpu_self()->resched) {
            sched_reschedule();
            continue;
        }
        if ((thread->context.flags & CONTEXT_RESTORE_MASK) != 0) { /* no handler's frame has taken the mask */
            thread->context.flags &= ~CONTEXT_RESTORE_MASK;
            signal_set_mask(thread, thread->context.signal_saved_mask);
            continue;
        }
        if (thread->context.interrupted != 0)
            thread_restart_call(thread);
        cpu_enter_user();
        return;
    }
}

void thread_enter_user(void)
{
    thread_settle();
    trap_return(thread_frame(thread_current()));
}
