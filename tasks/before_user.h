/* The way back to user mode: most times nothing is due, and that is seen here without a call. */
#ifndef TASKS_BEFORE_USER_H
#define TASKS_BEFORE_USER_H

#include "kernel/arch/x86_64/cpu.h"
#include "tasks/group.h"
#include "tasks/thread.h"

/* What there is to do before the current thread, which has a group, returns to user mode. */
static inline void thread_before_user(void)
{
    const struct cpu *cpu = cpu_self();
    const struct thread *thread = cpu->thread;

    if (thread->due != 0 || thread->doomed || group_exiting(thread->group) || cpu->resched ||
        thread->context.interrupted != 0 || (thread->context.flags & CONTEXT_RESTORE_MASK) != 0)
        thread_settle();
    else
        cpu_enter_user();
}

#endif
