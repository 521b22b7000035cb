/* Timers of a process (timer_create(2), ITIMER_VIRTUAL, ITIMER_PROF), at its home: tasks/timer/process/timers.md.
 * ITIMER_REAL is in tasks/timer/process/alarm.c.
 *
 * The times of a timer are in ns of its clock: clock_now for every wall clock, CPU time for CPU-time clocks. The caller
 * reads the clock beforehand, so no operation waits. */
#ifndef TASKS_TIMER_PROCESS_PROCESS_TIMER_H
#define TASKS_TIMER_PROCESS_PROCESS_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/process/wire.h"

struct process;

enum timer_kind { TIMER_WALL, TIMER_CPU_PROCESS, TIMER_CPU_USER, TIMER_CPU_THREAD };
enum timer_notify { TIMER_SIGNAL, TIMER_NONE, TIMER_THREAD };

#define TIMER_VIRTUAL (-1) /* ids of ITIMER_VIRTUAL and ITIMER_PROF */
#define TIMER_PROF (-2)
#define TIMER_LIMIT (-3) /* id of the timer of RLIMIT_CPU */
#define TIMERS_MAX 1024u /* maximum for one process */

/* PROCESS_TIMER_CREATE, and the other PROCESS_TIMER_... */
process_operation process_timer_create, process_timer_operate;
/* Deletes the timers of GROUP: those with ids at exec, ALL at its end. */
void process_timers_end(struct group *group, bool all);

/* What a timer is and has counted, as it moves to another kernel with its process. */
struct timer_state {
    struct timer_facts is;
    int32_t id;
    uint32_t target, measured; /* threads, or 0 */
    uint32_t pending;          /* 1: a signal was sent and is not taken yet */
    uint64_t value;            /* that its signal carries */
    uint64_t at, interval;     /* ns of its clock; 0: off, and expires once */
    uint64_t sequence, overrun, last_overrun;
};

/* For a process whose home stops (tasks/handover/stop_kernel.md). Programs are quiesced, and the timers of all kernels
 * are held (timer_hold), so those that stay at the former home never fire.
 *
 * At the home: calls NOTE for each timer of PROCESS. */
void process_timers_each(const struct process *process, void (*note)(void *context, const struct timer_state *state),
                         void *context);
/* At the successor: adds a timer to PROCESS, which no other code has yet. It is not armed. -ENOMEM. */
int process_timer_stage(struct process *process, const struct timer_state *state);
/* Arms the timers of PROCESS, which now belongs to its group. The group's lock is held. Cannot fail. */
void process_timers_start_locked(struct process *process);
/* Or frees the timers of PROCESS, none of which is armed. */
void process_timers_discard(struct process *process);

void process_timer_init(void);

#endif
