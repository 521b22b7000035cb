/* Threads of the kernel itself: they have no group and never move. */
#ifndef TASKS_SCHED_KERNEL_THREAD_H
#define TASKS_SCHED_KERNEL_THREAD_H

#include "tasks/thread/thread.h"

/* Makes a kernel thread, not yet started, that runs FUNCTION(ARGUMENT) and ends when FUNCTION returns. NULL without
 * memory. */
struct thread *thread_create_kernel(const char *name, void (*function)(void *), void *argument);

#endif
