/* Threads of the kernel itself: they have no group and never move. */
#ifndef TASKS_SCHED_KERNEL_THREAD_H
#define TASKS_SCHED_KERNEL_THREAD_H

#include "tasks/thread/thread.h"

/* A kernel thread that runs FUNCTION(ARGUMENT); it ends when FUNCTION returns. Not yet started. NULL without memory. */
struct thread *thread_create_kernel(const char *name, void (*function)(void *), void *argument);

#endif
