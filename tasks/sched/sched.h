/* The scheduler of one instance: a queue of ready threads per CPU; kernel threads run first, then real priorities, then
 * the others in fair shares by nice. Kernel code is never preempted; user code is preempted when its slice is over or
 * when a thread wakes that is owed more. tasks/sched/scheduling.md.
 *
 * Locks: a run queue's lock is the innermost, except for the log's. */
#ifndef TASKS_SCHED_SCHED_H
#define TASKS_SCHED_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "tasks/sched/load_average.h"
#include "tasks/thread/thread.h"

/* Calls to higher rooms. Set once, before programs run. */
struct sched_hooks {
    /* Frees a dead THREAD: its stack is no longer in use, and the scheduler does not refer to it. Must not wait. */
    void (*reap)(struct thread *thread);
    /* Called in the timer interrupt, at NOW (clock_now ns), of a CPU that runs a thread while others are ready. */
    void (*crowded)(uint64_t now);
};
extern struct sched_hooks sched_hooks; /* [i] */

/* Gives the calling CPU its run queue; the CPU then calls sched_idle. */
void sched_init_cpu(void);
/* Turns the calling context into the CPU's idle thread, on the present stack. */
_Noreturn void sched_idle(void);

/* Gives CHILD, which is not started yet, the affinity, policy and nice value of PARENT. */
void sched_inherit(struct thread *child, const struct thread *parent);
/* Lets a new THREAD run for the first time. */
void sched_start(struct thread *thread);
/* Makes a blocked THREAD ready. Any context. No effect when it is not blocked. */
void sched_wake(struct thread *thread);
/* The same in two steps, for a caller that holds locks which the woken thread takes at once: the caller passes the
 * first function's result to the second after releasing the locks. The thread may be gone by then. */
uint32_t sched_make_ready(struct thread *thread);
void sched_notify(uint32_t notice);
/* To be called when something has become due for THREAD (thread->due, thread->doomed, its group's end): ends its
 * present wait if the wait allows that, and makes a thread in user mode pass through the return to user mode. The
 * caller keeps THREAD valid. */
void sched_kick(struct thread *thread);
/* Whether THREAD is blocked, and *END what may end its wait. When a program's thread for which this was true has gone
 * on meanwhile, sched_woken has grown. Any context without the lock of a queue; the caller keeps THREAD valid. */
bool sched_waits(const struct thread *thread, enum wait_end *end);
/* Counts the program threads that have gone on from a wait, or have begun, on this kernel so far. Any context. */
uint64_t sched_woken(void);

/* Blocks the current thread. LOCK (or NULL) is released once no later wake can be lost, and is not taken again. An
 * event that END names ends the wait, or prevents it. DEADLINE in clock_now ns; 0: none. */
void sched_block(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline);

/* A fair thread lets the next ready thread run first; a real-time thread lets those of its priority run first. */
void sched_yield(void);
/* Lets another thread run if that one is owed more or has precedence. To be called when cpu->resched is set. */
void sched_reschedule(void);
/* A point of a long loop of kernel code at which the caller holds no lock: takes the pending interrupts, and lets
 * another thread run as sched_reschedule does. Kernel code runs with interrupts off and is never preempted, and a
 * request to another kernel whose reply comes at once does not block: so timers, signals and other threads of this CPU
 * need such points. May wait; the thread may then run on another CPU of this kernel. */
void sched_breathe(void);

/* To be called after THREAD's context.affinity has changed: the thread leaves a CPU that it may no longer use, at once
 * when it is ready, on its way to user mode when it runs. A thread that may use no CPU of this kernel stays where it
 * is. The caller keeps THREAD valid. */
void sched_affinity_changed(struct thread *thread);
/* The same for context.policy and context.nice, or for a donated policy and nice value. */
void sched_share_changed(struct thread *thread);

/* The CPU time of THREAD on all kernels so far, in ns, including the present run if it runs here. */
void sched_cpu_time(struct thread *thread, uint64_t *user, uint64_t *system);
/* Statistics of the CPU with INDEX since it began. */
struct cpu_use {
    uint64_t user_ns, system_ns, idle_ns; /* idle: no thread ran */
    uint64_t switches;
    uint64_t ready;                  /* threads of programs that run there or are ready now */
    uint64_t average[LOAD_AVERAGES]; /* averages of that number: tasks/sched/load_average.h */
};
void sched_cpu_use(uint32_t index, struct cpu_use *out);
/* Updates context.user_ns and system_ns of the current thread. To be called before its context moves to another
 * kernel. */
void sched_settle(void);
/* Before the current thread sleeps until what a message may bring soon: polls for messages for a while, as an idle CPU
 * does, if no other thread is ready, until OVER says of CONTEXT that the wait is over, as handlers and other CPUs make
 * it. OVER takes no lock. The time is not the thread's. */
void sched_poll(bool (*over)(const void *context), const void *context);

/* Ends the current thread. When the CPU has left its stack, sched_hooks.reap frees its memory. */
_Noreturn void sched_die(void);

/* To be called first on a new thread's stack. */
void sched_after_switch(void);

/* Interrupts. */
void sched_timer_interrupt(void);
void sched_wake_interrupt(void);

/* Once set, every CPU calls it as soon as it is idle. It does not return. */
extern void (*volatile sched_halt)(void);

#endif
