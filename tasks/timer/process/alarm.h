/* The timer of a process that counts real time (ITIMER_REAL), at its home. */
#ifndef TASKS_TIMER_PROCESS_ALARM_H
#define TASKS_TIMER_PROCESS_ALARM_H

#include "tasks/process/process.h"

/* PROCESS_ALARM on GROUP, whose home this kernel is. */
process_operation alarm_operate;
/* Disarms the timer of GROUP, which has ended. */
void alarm_end(struct group *group);

void alarm_init(void);

#endif
