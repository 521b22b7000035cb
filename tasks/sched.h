/* The scheduler of one instance: a queue of ready threads per CPU, taken in turn, 10 ms each. A thread stays on its
 * CPU. Kernel code is never preempted; user code is, when its time is over or a kernel thread wakes.
 *
 * Locks: a run queue's lock is the innermost but for the log. */
#ifndef TASKS_SCHED_H
#define TASKS_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "tasks/thread.h"

/* Gives the calling CPU its run queue; then sched_idle is where it lives. */
void sched_init_cpu(void);
/* Becomes the calling CPU's idle thread on the present stack. */
_Noreturn void sched_idle(void);

/* Index of the CPU of this instance with the fewest threads. */
uint32_t sched_choose_cpu(void);

/* Lets a new THREAD run for the first time. */
void sched_start(struct thread *thread);
/* Lets a blocked THREAD run. Any context. Harmless when it is not blocked. */
void sched_wake(struct thread *thread);
/* Something is due for THREAD (thread_due, thread->doomed, its group's end): ends its present wait if the wait lets it,
 * and makes the thread pass the return to user mode. The thread must not go away meanwhile. */
void sched_kick(struct thread *thread);

/* Blocks the current thread; LOCK is released once it is sure that a wake from now on is seen, and not taken again.
 * What END names ends the wait, or lets it not start. DEADLINE in clock_now nanoseconds, or 0. */
void sched_block(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline);

/* Its affinity or nice value (-20 to 19) has changed. */
void sched_affinity_changed(struct thread *thread);
void sched_set_nice(struct thread *thread, int nice);

/* Lets other ready threads run first. */
void sched_yield(void);
/* Ends the current thread; its memory is freed, and its group told, when the CPU has left its stack. */
_Noreturn void sched_die(void);

/* Called first thing on a new thread's stack. */
void sched_after_switch(void);

/* Interrupts. */
void sched_timer_interrupt(void);
void sched_wake_interrupt(void);

/* Writes what every blocked thread waits for, one line each, as "@wait" events. */
void sched_dump_waits(void);

#endif
