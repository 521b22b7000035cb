/* The scheduler of one instance: a queue of ready threads per CPU; kernel threads run first, then real priorities, then
 * the others in fair shares by nice. Kernel code is never preempted; user code is preempted when its slice is over or
 * when a thread wakes that is owed more. tasks/sched/scheduling.md.
 *
 * Locks: a run queue's lock is the innermost but for the log. */
#ifndef TASKS_SCHED_SCHED_H
#define TASKS_SCHED_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "tasks/sched/load_average.h"
#include "tasks/thread/thread.h"

/* Calls to higher rooms; set once before programs run. */
struct sched_hooks {
    /* The stack of a dead thread is no longer in use, and nothing refers to it here. Must not wait. */
    void (*reap)(struct thread *thread);
    /* In the timer interrupt, at NOW (clock_now ns), of a CPU that more than one thread wants. */
    void (*crowded)(uint64_t now);
};
extern struct sched_hooks sched_hooks; /* [i] */

/* Gives the calling CPU its run queue; the CPU then calls sched_idle. */
void sched_init_cpu(void);
/* Becomes the calling CPU's idle thread on the present stack. */
_Noreturn void sched_idle(void);

/* CHILD, not yet started, gets the affinity, the policy and the nice value of PARENT. */
void sched_inherit(struct thread *child, const struct thread *parent);
/* Lets a new THREAD run for the first time. */
void sched_start(struct thread *thread);
/* Lets a blocked THREAD run. Any context. Harmless when it is not blocked. */
void sched_wake(struct thread *thread);
/* The same in two steps, for a caller that holds locks which the woken thread takes at once: the caller passes the
 * first function's result to the second after releasing the locks. The thread may be gone by then. */
uint32_t sched_make_ready(struct thread *thread);
void sched_notify(uint32_t notice);
/* Something is due for THREAD (thread->due, thread->doomed, its group's end): ends its present wait if that is
 * interruptible so, and makes the thread pass through the return to user mode. The thread must not go away
 * meanwhile. */
void sched_kick(struct thread *thread);

/* Blocks the current thread. LOCK is released when no later wake can be lost, and is not taken again. An event that END
 * names ends the wait, or prevents it. DEADLINE in clock_now nanoseconds, or 0. */
void sched_block(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline);

/* Lets the threads that are ready now run first; a real-time thread, those of its priority. */
void sched_yield(void);
/* Lets another thread run if it is owed more, or has precedence. To be called when cpu->resched is set. */
void sched_reschedule(void);

/* THREAD's context.affinity has changed (its owner writes it): it leaves a CPU that it may no longer use, at once when
 * it is ready, on its way to user mode when it runs. One that may use no CPU of this kernel stays where it is. The
 * thread must not go away meanwhile. */
void sched_affinity_changed(struct thread *thread);
/* The same for context.policy and context.nice, or for a donated policy and nice value. */
void sched_share_changed(struct thread *thread);

/* CPU time of THREAD, in ns: on all kernels so far, with what it is using now if it runs here. */
void sched_cpu_time(struct thread *thread, uint64_t *user, uint64_t *system);
/* Statistics of the CPU with this index since it began. */
struct cpu_use {
    uint64_t user_ns, system_ns, idle_ns; /* idle: no thread had it */
    uint64_t switches;
    uint64_t ready;                  /* threads of programs that run there, or are ready to, now */
    uint64_t average[LOAD_AVERAGES]; /* of those: tasks/sched/load_average.h */
};
void sched_cpu_use(uint32_t index, struct cpu_use *out);
/* Updates context.user_ns and system_ns of the current thread, before its context leaves. */
void sched_settle(void);

/* Ends the current thread; its memory is freed, and its group told, when the CPU has left its stack. */
_Noreturn void sched_die(void);

/* Called first thing on a new thread's stack. */
void sched_after_switch(void);

/* Interrupts. */
void sched_timer_interrupt(void);
void sched_wake_interrupt(void);

/* Once set, every CPU calls it as soon as it has nothing to do: it does not return. */
extern void (*volatile sched_halt)(void);

#endif
