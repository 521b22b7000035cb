/* Timers of a process (timer_create(2), ITIMER_VIRTUAL, ITIMER_PROF), at its home: tasks/timer/process/timers.md.
 * ITIMER_REAL is in tasks/timer/process/alarm.c.
 *
 * A timer's times are those of its clock: for clocks of the wall clock_now ns, whichever they are, and for clocks of
 * CPU time ns of that. Who asks has read the clock, so no operation waits. */
#ifndef TASKS_TIMER_PROCESS_PROCESS_TIMER_H
#define TASKS_TIMER_PROCESS_PROCESS_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/process/wire.h"

struct group;

enum timer_kind { TIMER_WALL, TIMER_CPU_PROCESS, TIMER_CPU_USER, TIMER_CPU_THREAD };
enum timer_notify { TIMER_SIGNAL, TIMER_NONE, TIMER_THREAD };

#define TIMER_VIRTUAL (-1) /* ids of ITIMER_VIRTUAL and ITIMER_PROF */
#define TIMER_PROF (-2)
#define TIMER_LIMIT (-3) /* of RLIMIT_CPU */
#define TIMERS_MAX 1024u /* of a process */

/* Operations on GROUP, whose home this kernel is: see enum process_operation. -EINVAL: no such timer. */
int64_t process_timer_operate(struct group *group, const struct msg_process_call *call,
                              struct msg_process_result *result);
/* The program is replaced, or over (ALL): its timers are deleted. */
void process_timers_end(struct group *group, bool all);

void process_timer_init(void);

#endif
