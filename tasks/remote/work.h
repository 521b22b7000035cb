/* The workers that do what is submitted with work_submit. */
#ifndef TASKS_REMOTE_WORK_H
#define TASKS_REMOTE_WORK_H

#include <stdint.h>

#include "kernel/wait/work.h"

void work_init(void);
/* Returns the number of items that are queued or being done, including that of a worker that calls this. Any context.
 */
uint32_t work_busy(void);
/* The calling task is about to wait for an item of RANK, here or on another kernel, which does WHAT. If it does an item
 * itself whose rank is not higher, this is logged, as kernels may wait so for each other. Tasks only. */
void work_waits_for(enum work_rank rank, const char *what);

#endif
