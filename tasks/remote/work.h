/* Work that a handler leaves to a task because it may have to wait. Items are begun in the order of their submission.
 * An item that waits keeps its kernel thread and does not hold up the next item. */
#ifndef TASKS_REMOTE_WORK_H
#define TASKS_REMOTE_WORK_H

#include <stdint.h>

#include "tasks/thread/wait.h"

void work_init(void);
/* Has a worker call WORK's `run`. The caller keeps the item valid until then. Any context. */
void work_submit(struct work *work);
/* Returns the number of items that are queued or being done, including that of a worker that calls this. Any context.
 */
uint32_t work_busy(void);

#endif
