/* Work that a handler hands to a task, because it waits. Items run in order of arrival, each in a kernel thread of its
 * own while it waits, so one that waits does not hold up the next. */
#ifndef TASKS_REMOTE_WORK_H
#define TASKS_REMOTE_WORK_H

#include <stdint.h>

#include "tasks/thread/wait.h"

void work_init(void);
/* Any context. The item stays the caller's memory until run is called. */
void work_submit(struct work *work);
/* Items that wait or are being worked at, a worker that asks its own included. Any context. */
uint32_t work_busy(void);

#endif
