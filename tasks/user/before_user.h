/* The fast path of the return to user mode: usually nothing is due, which this inline function finds without a call. */
#ifndef TASKS_USER_BEFORE_USER_H
#define TASKS_USER_BEFORE_USER_H

#include "kernel/arch/x86_64/cpu.h"
#include "tasks/thread/group.h"
#include "tasks/user/user.h"

/* Does what is due before the current thread, which has a group, returns to user mode. True: nothing was due. A thread
 * that may have been interrupted in a system call calls thread_settle instead. */
static inline bool thread_before_user(void)
{
    const struct cpu *cpu = cpu_self();
    const struct thread *thread = cpu->thread;

    if (thread->due_or_doomed != 0 || __atomic_load_n(&thread->group->exiting, __ATOMIC_SEQ_CST) || cpu->resched ||
        (thread->context.flags & CONTEXT_RESTORE_MASK) != 0) {
        thread_settle();
        return false;
    }
    cpu_enter_user();
    return true;
}

#endif
