/* The timer of a process that counts real time (ITIMER_REAL), at its home. */
#ifndef TASKS_TIMER_PROCESS_ALARM_H
#define TASKS_TIMER_PROCESS_ALARM_H

#include "tasks/process/process.h"

/* PROCESS_ALARM, of GROUP, whose home this kernel is. */
int64_t alarm_operate(struct group *group, const struct msg_process_call *call, struct msg_process_result *result);
/* GROUP is over. */
void alarm_end(struct group *group);

void alarm_init(void);

#endif
