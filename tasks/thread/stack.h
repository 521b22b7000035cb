/* Kernel stacks of threads. */
#ifndef TASKS_THREAD_STACK_H
#define TASKS_THREAD_STACK_H

#include <stdint.h>

/* Allocates a kernel stack, STACK_SIZE bytes with unmapped memory below, and returns its lowest address; 0 without
 * memory. Never waits. */
uint64_t thread_stack_alloc(void);
/* Frees a stack that no CPU uses, for reuse. Never waits. */
void thread_stack_free(uint64_t stack);
/* The number of stacks made so far, in use or kept for reuse. */
uint64_t thread_stack_count(void);

#endif
