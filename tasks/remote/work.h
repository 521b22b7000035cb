/* Work that a handler hands to a task because it has to wait. Items are started in order of arrival. An item that waits
 * keeps its kernel thread and does not hold up the next item. */
#ifndef TASKS_REMOTE_WORK_H
#define TASKS_REMOTE_WORK_H

#include <stdint.h>

#include "tasks/thread/wait.h"

void work_init(void);
/* Any context. The caller keeps the item valid until `run` is called. */
void work_submit(struct work *work);
/* Items that are queued or running, including that of a worker that calls this. Any context. */
uint32_t work_busy(void);

#endif
