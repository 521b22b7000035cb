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

void process_timer_init(void);

#endif
